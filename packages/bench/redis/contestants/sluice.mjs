// Ours: the public API over a default Redis store.

import { createLimiter, fixedWindow } from 'sluice'
import { redisStore } from 'sluice/redis'

/** @import { Rule } from 'sluice' */
/** @import { Connection } from '../connections.mjs' */
/** @import { Limiter } from '../../rounds/hits.mjs' */
/** @import { Create } from '../contestants.mjs' */

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'await limiter.hit(key)'
export const sends = ['evalsha', 'eval']

/** @type {Create} */
export function create(connection, { limit, windowMs }) {
  return limiterOver(fixedWindow({ limit, window: windowMs }), connection)
}

/**
 * @param {Rule | Rule[]} rules
 * @param {Connection} connection
 * @returns {Limiter}
 */
export function limiterOver(rules, { client }) {
  // The deadline is longer than any pause of a busy machine, because no other contestant has a deadline.
  const limiter = createLimiter({ rules, store: redisStore(client), failure: { timeoutMs: 10_000 } })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
  }
}
