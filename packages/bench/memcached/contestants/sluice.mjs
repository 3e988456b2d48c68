// Ours: the public API over a default memcached store.

import { createLimiter, fixedWindow } from 'sluice'
import { memcachedStore } from 'sluice/memcached'

/** @import { Rule } from 'sluice' */
/** @import { Create, Limiter } from '../contestants.mjs' */

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'await limiter.hit(key)'

/** @type {Create} */
export function create(port, { limit, windowMs }) {
  return limiterOver(fixedWindow({ limit, window: windowMs }), port)
}

/**
 * @param {Rule | Rule[]} rules
 * @param {number} port
 * @returns {Limiter}
 */
export function limiterOver(rules, port) {
  const store = memcachedStore({ servers: [`127.0.0.1:${port}`], timeoutMs: 10_000 })
  // The deadline is longer than any pause of a busy machine, because no other contestant has a deadline.
  const limiter = createLimiter({ rules, store, failure: { timeoutMs: 10_000 } })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
    close: () => store.close(),
  }
}
