// Peer: RateLimiterMemcache with the client of its documentation, with default options. A denial is a rejection.

import Memcached from 'memcached'
import { RateLimiterMemcache } from 'rate-limiter-flexible'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limiter-flexible'
export const call = 'await limiter.consume(key)'

/** @type {Create} */
export function create(port, { limit, windowMs }) {
  const client = new Memcached(`127.0.0.1:${port}`)
  const limiter = new RateLimiterMemcache({ storeClient: client, points: limit, duration: windowMs / 1000 })
  return {
    hit: (key) => limiter.consume(key),
    isAllowed: () => true,
    close: () => client.end(),
  }
}
