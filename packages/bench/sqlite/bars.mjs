// The bars of the SQLite bench. They are written nowhere else in the bench.

import { atLeast } from '../report/bars.mjs'
import { keyCount } from '../report/numbers.mjs'
import * as hitRate from './tasks/hit-rate.mjs'
import { ratioTo } from './traffic.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { Plan } from './sqlite.mjs' */

const PEER = 'rate-limiter-flexible'

/** The multiple of the peer's decisions a second that is needed with any number of keys. */
const AT_LEAST_PEER = 1

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function sqliteBars(_plan, results) {
  return hitRate.KEY_COUNTS.map(keyCount).map((group) =>
    atLeast(AT_LEAST_PEER, results.median([hitRate.name, group, hitRate.TOGETHER, ratioTo(PEER)]), {
      work: `hit, ${group}: decisions a second`,
      unit: '×',
      of: ` ${PEER}`,
    }),
  )
}
