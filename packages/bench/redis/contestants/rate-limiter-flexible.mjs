// Peer: RateLimiterRedis, connected to each client as its documentation says: a custom command in ioredis, EVAL with the
// whole script in node-redis. A denial is a rejection.

import { RateLimiterRedis } from 'rate-limiter-flexible'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limiter-flexible'
export const call = 'await limiter.consume(key)'
export const sends = ['evalsha', 'eval']

/** @type {Create} */
export function create({ clientName, client }, { limit, windowMs }) {
  const limiter = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: clientName === 'node-redis',
    points: limit,
    duration: windowMs / 1000,
  })
  return {
    hit: (key) => limiter.consume(key),
    isAllowed: () => true,
  }
}
