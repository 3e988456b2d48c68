// Ours by functions and prepared statements: one round trip for all calls of a turn.

import { createLimiter, fixedWindow } from 'sluice'
import { postgresStore } from 'sluice/postgres'

/** @import { Create } from '../contestants.mjs' */

export const role = 'sluice'
export const packageName = 'sluice'
export const call = "await limiter.hit(key), mode: 'function'"

/** @type {Create} */
export function create(pool, table, { limit, windowMs }) {
  const store = postgresStore(pool, { table, mode: 'function' })
  // The deadline is longer than any pause of a busy machine, because no other contestant has a deadline.
  const limiter = createLimiter({ rules: fixedWindow({ limit, window: windowMs }), store, failure: { timeoutMs: 10_000 } })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
  }
}
