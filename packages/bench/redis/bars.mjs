// The bars of the Redis bench. They are written nowhere else in the bench.

import { atLeast, atMost } from '../report/bars.mjs'
import { HITS_TASK, reading } from './readings.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as everyRule from './tasks/every-rule.mjs'
import * as holds from './tasks/holds.mjs'
import * as severalRules from './tasks/several-rules.mjs'
import { MANY } from './turns.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Results } from '../rounds/results.mjs' */
/** @import { ClientName, PlaceName } from './connections.mjs' */
/** @import { Plan } from './redis.mjs' */

const PEERS = ['rate-limiter-flexible', 'rate-limit-redis']
const [PEER] = PEERS
const FLOOR = 'bare-incr'

/** The multiples of the peer and the floor that each client has to reach with MANY hits under way. */
const CLIENT_BARS = /** @type {const} */ ({
  ioredis: { atLeastPeer: 2.5, atLeastFloor: 1.5 },
  'node-redis': { atLeastPeer: 4, atLeastFloor: 3 },
})

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Bar[]}
 */
export function redisBars(_plan, results) {
  const bars = {
    [HITS_TASK]: () => [
      ...clientBars(results, 'ioredis'),
      ...clientBars(results, 'node-redis'),
      ...clusterBars(results, 'ioredis'),
      ...clusterBars(results, 'node-redis'),
    ],
    [everyRule.name]: () => [bucketBar(results)],
    [severalRules.name]: () => severalRulesBars(results),
    [holds.name]: () => [holdsBar(results)],
    [bytesAKey.name]: () => [bytesBar(results)],
  }
  return Object.entries(bars).flatMap(([task, barsOfTask]) => (results.tasks.has(task) ? barsOfTask() : []))
}

/**
 * Decisions a second of ours for each of a contestant.
 * @param {Results} results
 * @param {{ client: ClientName, placeName: PlaceName, underWay: number }} where
 */
function rateTo(results, where) {
  return (/** @type {string} */ contestant) =>
    results.medianRatio(reading(where, 'sluice', 'hitsPerSecond'), reading(where, contestant, 'hitsPerSecond'))
}

/**
 * @param {Results} results
 * @param {keyof typeof CLIENT_BARS} client
 * @returns {Bar[]}
 */
function clientBars(results, client) {
  const at = (/** @type {number} */ underWay) => /** @type {const} */ ({ client, placeName: 'server', underWay })
  const textOf = (/** @type {number} */ underWay, /** @type {string} */ whose) => ({
    work: `${client}, ${underWay} under way: decisions a second`,
    unit: '×',
    of: ` ${whose}`,
  })
  const ofFastest = (/** @type {number} */ underWay) => Math.min(...PEERS.map(rateTo(results, at(underWay))))
  const many = at(MANY)
  return [
    atLeast(1, ofFastest(1), textOf(1, 'the fastest peer')),
    atLeast(1.3, ofFastest(16), textOf(16, 'the fastest peer')),
    atLeast(CLIENT_BARS[client].atLeastPeer, rateTo(results, many)(PEER), textOf(MANY, PEER)),
    atLeast(CLIENT_BARS[client].atLeastFloor, rateTo(results, many)(FLOOR), textOf(MANY, 'bare INCR')),
    atMost(1, results.median(reading(many, 'sluice', 'roundTrips')), {
      work: `${client}, ${MANY} under way: round trips a decision`,
      unit: '',
      of: '',
    }),
  ]
}

/**
 * @param {Results} results
 * @param {ClientName} client
 * @returns {Bar[]}
 */
function clusterBars(results, client) {
  return [
    { underWay: MANY, bound: 2.5 },
    { underWay: 1, bound: 0.95 },
  ].map(({ underWay, bound }) =>
    atLeast(bound, rateTo(results, { client, placeName: 'cluster', underWay })(PEER), {
      work: `cluster, ${client}, ${underWay} under way: decisions a second`,
      unit: '×',
      of: ` ${PEER}`,
    }),
  )
}

/** @param {Results} results */
function bucketBar(results) {
  const of = (/** @type {string} */ rule) => /** @type {const} */ ([everyRule.name, everyRule.GROUP, rule, 'hitsPerSecond'])
  return atLeast(0.8, results.medianRatio(of('tokenBucket'), of('fixedWindow')), {
    work: `token bucket, ${MANY} under way`,
    unit: '×',
    of: ' our fixed window',
  })
}

/**
 * @param {Results} results
 * @returns {Bar[]}
 */
function severalRulesBars(results) {
  const of = (/** @type {number} */ count) =>
    /** @type {const} */ ([severalRules.name, severalRules.GROUP, String(count), 'hitsPerSecond'])
  return [
    { count: 2, bound: 1.6 },
    { count: 4, bound: 2.6 },
  ].map(({ count, bound }) =>
    atMost(bound, results.medianRatio(of(1), of(count)), {
      work: `time of ${count} rules, ${MANY} under way`,
      unit: '×',
      of: ' one rule',
    }),
  )
}

/** @param {Results} results */
function holdsBar(results) {
  const of = (/** @type {string} */ work) => /** @type {const} */ ([holds.name, holds.GROUP, work, 'hitsPerSecond'])
  return atMost(2.4, results.medianRatio(of(holds.HIT), of(holds.RESERVE)), {
    work: `time of ${holds.RESERVE}, ${MANY} under way`,
    unit: '×',
    of: ' a hit',
  })
}

/** @param {Results} results */
function bytesBar(results) {
  const of = (/** @type {string} */ contestant) => /** @type {const} */ ([bytesAKey.name, bytesAKey.GROUP, contestant, 'bytes'])
  return atMost(1.6, results.medianRatio(of('sluice'), of(bytesAKey.COUNTER)), {
    work: 'bytes a key',
    unit: '×',
    of: ` ${bytesAKey.COUNTER}`,
  })
}
