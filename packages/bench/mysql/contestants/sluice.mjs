// Ours: two round trips for all calls of a turn.

import { createLimiter, fixedWindow } from 'sluice'
import { mysqlStore } from 'sluice/mysql'

/** @import { Create } from '../contestants.mjs' */

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'await limiter.hit(key)'

/** @type {Create} */
export function create(pool, table, { limit, windowMs }) {
  // The deadline is longer than any pause of a busy machine, because no other contestant has a deadline.
  const failure = { timeoutMs: 10_000 }
  const limiter = createLimiter({ rules: fixedWindow({ limit, window: windowMs }), store: mysqlStore(pool, { table }), failure })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
  }
}
