// The bars of the Redis bench. They are written nowhere else in the bench.

import { atLeast, atMost, shown } from '../report/bars.mjs'
import { reading } from './readings.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { ClientName } from './connections.mjs' */
/** @import { Plan } from './redis.mjs' */

const PEER = 'rate-limiter-flexible'
const FLOOR = 'bare-incr'
const UNDER_WAY = 128

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
    reading({ client, placeName: 'server', underWay: UNDER_WAY }, contestant, field)
  const ratioTo = (/** @type {string} */ contestant, /** @type {string} */ field) =>
    results.medianRatio(of('sluice', field), of(contestant, field))
  const textOf = (/** @type {string} */ what, /** @type {string} */ unit, /** @type {string} */ whose) => ({
    work: `${client}, ${UNDER_WAY} hits under way: ${what}`,
    unit,
    of: whose,
  })
  return [
    atLeast(2.5, ratioTo(PEER, 'hitsPerSecond'), textOf('decisions a second', '×', ` ${PEER}`)),
    atLeast(1.2, ratioTo(FLOOR, 'hitsPerSecond'), textOf('decisions a second', '×', ' bare INCR')),
    atMost(1, results.median(of('sluice', 'roundTrips')), textOf('round trips a decision', '', '')),
    atMost(0.4, ratioTo(PEER, 'clientMicros'), textOf('client CPU a decision', '×', ` ${PEER}`)),
    shown(ratioTo(FLOOR, 'clientMicros'), textOf('client CPU a decision', '×', ' bare INCR')),
  ]
}
