// The bars of the MySQL bench. They are written nowhere else in the bench.

import { atLeast } from '../report/bars.mjs'
import { reading } from './tasks/hits-under-way.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './mysql.mjs' */

const PEER = 'rate-limiter-flexible'

/** For each number of hits under way, the multiple of the peer's decisions a second. */
const BARS = [
  { underWay: 128, bound: 2.5 },
  { underWay: 16, bound: 1.5 },
  { underWay: 1, bound: 0.6 },
]

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function mysqlBars(_plan, results) {
  return BARS.map(({ underWay, bound }) => {
    const rate = (/** @type {string} */ name) => reading(name, 'hitsPerSecond', underWay)
    return atLeast(bound, results.medianRatio(rate('sluice'), rate(PEER)), {
      work: `${underWay} under way: decisions a second`,
      unit: '×',
      of: ` ${PEER}`,
    })
  })
}
