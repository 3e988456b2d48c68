// Aside: `limiter` limits one caller and knows no keys, so its user keeps a Map of limiters, one a key.
// It is a token bucket with an interval cap. Shown for scale; in no bar.

import { RateLimiter } from 'limiter'

/** @import { Create } from '../contestants.mjs' */

export const role = 'aside'
export const packageName = 'limiter'
export const call = 'map.get(key).tryRemoveTokens(1), in a Map<string, RateLimiter> that never forgets'
export const isAsync = false

/** @type {Create} */
export function create({ limit, windowMs }) {
  /** @type {Map<string, RateLimiter>} */
  const limiters = new Map()
  return {
    hit: (key) => {
      let limiter = limiters.get(key)
      if (limiter === undefined) {
        limiter = new RateLimiter({ tokensPerInterval: limit, interval: windowMs })
        limiters.set(key, limiter)
      }
      return limiter.tryRemoveTokens(1)
    },
    isAllowed: (removed) => removed,
  }
}
