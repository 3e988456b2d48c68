// Peer: RateLimiterMemory. It keeps one timer a key and always answers with a promise; a denial is a rejection.

import { RateLimiterMemory } from 'rate-limiter-flexible'

/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limiter-flexible'
export const call = "await limiter.consume(key), with keyPrefix: '' so that it builds no second string"
export const isAsync = true

/** @type {Create} */
export function create({ limit, windowMs }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000, keyPrefix: '' })
  return {
    hit: (key) => limiter.consume(key),
    isAllowed: () => true,
  }
}
