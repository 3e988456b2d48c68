// The bars of the Redis bench. They are written nowhere else in the bench.

import { atLeast, atMost, shown } from '../report/bars.mjs'
import { reading } from './readings.mjs'

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
  const of = (/** @type {string} */ contestant, /** @type {string} */ field) =>
    reading({ client, placeName: 'server', underWay }, contestant, field)
  const ratioTo = (/** @type {string} */ contestant, /** @type {string} */ field) =>
    results.medianRatio(of('sluice', field), of(contestant, field))
  const textOf = (/** @type {string} */ what, /** @type {string} */ unit, /** @type {string} */ whose) => ({
    work: `${client}, ${underWay} hits under way: ${what}`,
    unit,
    of: whose,
  })
  return [
    atLeast(2.5, ratioTo(peer, 'hitsPerSecond'), textOf('decisions a second', '×', ` ${peer}`)),
    atLeast(1.2, ratioTo(floor, 'hitsPerSecond'), textOf('decisions a second', '×', ' bare INCR')),
    atMost(1, results.median(of('sluice', 'roundTrips')), textOf('round trips a decision', '', '')),
    atMost(0.4, ratioTo(peer, 'clientMicros'), textOf('client CPU a decision', '×', ` ${peer}`)),
    shown(ratioTo(floor, 'clientMicros'), textOf('client CPU a decision', '×', ' bare INCR')),
  ]
}
