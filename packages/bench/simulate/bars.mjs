// The bars of the simulate bench. They are written nowhere else in the bench.

import { atMost, shown } from '../report/bars.mjs'
import * as lines from './tasks/lines.mjs'
import { ratioOf } from './traffic.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './simulate.mjs' */

const MOST = 4

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function simulateBars(_plan, results) {
  const read = (/** @type {string} */ name, /** @type {string} */ floor) =>
    results.median([lines.name, lines.GROUP, lines.TOGETHER, ratioOf(name, floor)])
  return [
    atMost(MOST, read('simulate', 'split'), {
      work: 'read, parse and decide a line',
      unit: '×',
      of: ' the CPU time of a loop that only splits chunks of the same file',
    }),
    shown(read('simulate', 'readline'), { work: 'the same', unit: '×', of: ' that of a readline loop' }),
    shown(read('simulate-with-limits', 'readline'), { work: 'and find the smallest limits', unit: '×', of: ' a readline loop' }),
  ]
}
