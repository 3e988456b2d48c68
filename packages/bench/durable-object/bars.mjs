// The numbers of the Durable Object bench. The design sets no bar for it, so they are shown and fail nothing.

import { shown } from '../report/bars.mjs'
import { COUNTS } from '../rounds/hits-under-way.mjs'
import { reading } from './tasks/hits-under-way.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './durable-object.mjs' */

const FLOOR = 'bare-counter'

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function durableObjectBars(_plan, results) {
  return COUNTS.map((underWay) => {
    const rate = (/** @type {string} */ name) => reading(name, 'hitsPerSecond', underWay)
    return shown(results.medianRatio(rate('sluice'), rate(FLOOR)), {
      work: `sluice, ${underWay} under way: decisions a second`,
      unit: '×',
      of: ` ${FLOOR}`,
    })
  })
}
