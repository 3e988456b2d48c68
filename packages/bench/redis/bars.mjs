// The bars of the Redis bench. The numbers to reach are written here and nowhere else in the bench.

import { atLeast, atMost } from '../report/bars.mjs'
import { groupOf, nameOf } from './tasks/hits-under-way.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { ClientName } from './connections.mjs' */
/** @import { Plan } from './redis.mjs' */

const peer = 'rate-limiter-flexible'
const floor = 'bare-incr'
const underWay = 128

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function redisBars(_plan, results) {
  return [...clientBars(results, 'ioredis'), ...clientBars(results, 'node-redis')]
}

/**
 * @param {Results} results
 * @param {ClientName} client
 */
function clientBars(results, client) {
  const task = nameOf(client, 'server')
  const group = groupOf(underWay)
  const ratioTo = (/** @type {string} */ contestant, /** @type {string} */ field) =>
    results.medianRatio([task, group, 'sluice', field], [task, group, contestant, field])
  const work = `${client}, ${group}`
  return [
    atLeast(2.5, ratioTo(peer, 'hitsPerSecond'), { work: `${work}: decisions a second`, unit: '×', of: ` ${peer}` }),
    atLeast(1.2, ratioTo(floor, 'hitsPerSecond'), { work: `${work}: decisions a second`, unit: '×', of: ' bare INCR' }),
    atMost(1, results.median([task, group, 'sluice', 'roundTrips']), {
      work: `${work}: round trips a decision`,
      unit: '',
      of: '',
    }),
    atMost(0.4, ratioTo(peer, 'clientMicros'), { work: `${work}: client CPU a decision`, unit: '×', of: ` ${peer}'s` }),
  ]
}
