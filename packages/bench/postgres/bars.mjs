// The bars of the Postgres bench. They are written nowhere else in the bench.

import { atLeast } from '../report/bars.mjs'
import { reading } from './tasks/hits-under-way.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './postgres.mjs' */

const PEER = 'rate-limiter-flexible'

/** For each contestant of ours and number of hits under way, the multiple of the peer's decisions a second. */
const BARS = [
  { contestant: 'sluice-function', underWay: 128, bound: 4 },
  { contestant: 'sluice-function', underWay: 16, bound: 2 },
  { contestant: 'sluice-function', underWay: 1, bound: 1 },
  { contestant: 'sluice-transaction', underWay: 128, bound: 2.5 },
  { contestant: 'sluice-transaction', underWay: 1, bound: 0.6 },
]

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function postgresBars(_plan, results) {
  return BARS.map(({ contestant, underWay, bound }) => {
    const rate = (/** @type {string} */ name) => reading(name, 'hitsPerSecond', underWay)
    return atLeast(bound, results.medianRatio(rate(contestant), rate(PEER)), {
      work: `${contestant}, ${underWay} under way: decisions a second`,
      unit: '×',
      of: ` ${PEER}`,
    })
  })
}
