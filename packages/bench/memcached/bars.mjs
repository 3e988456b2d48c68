// The bars of the memcached bench. They are written nowhere else in the bench.

import { atLeast, atMost } from '../report/bars.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import { reading } from './tasks/hits-under-way.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './memcached.mjs' */

const PEER = 'rate-limiter-flexible'

/**
 * The multiple of the peer's decisions a second that each number of hits under way has to reach. The peer counts with one `incr` and
 * reads an expiry, also two round trips. It decides nothing else: one rule, and no comparison of versions.
 */
const RATES = [
  { underWay: 128, bound: 1 },
  { underWay: 16, bound: 1 },
  { underWay: 1, bound: 0.9 },
]

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function memcachedBars(_plan, results) {
  const rateAt = (/** @type {string} */ who, /** @type {number} */ underWay) => reading(who, 'hitsPerSecond', underWay)
  const bytesOf = (/** @type {string} */ who) => /** @type {const} */ ([bytesAKey.name, bytesAKey.GROUP, who, 'bytes'])
  return [
    ...RATES.map(({ underWay, bound }) =>
      atLeast(bound, results.medianRatio(rateAt('sluice', underWay), rateAt(PEER, underWay)), {
        work: `${underWay} under way: decisions a second`,
        unit: '×',
        of: ` ${PEER}`,
      }),
    ),
    atMost(1, results.medianRatio(bytesOf('sluice'), bytesOf(PEER)), { work: 'bytes a key', unit: '×', of: ` ${PEER}` }),
  ]
}
