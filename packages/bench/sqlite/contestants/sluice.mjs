// Ours: the public API over a SQLite store.

import { createLimiter, fixedWindow } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'

/** @import { Rule } from 'sluice' */
/** @import { Create, Limiter } from '../contestants.mjs' */
/** @import { Connection } from '../files.mjs' */

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'limiter.hit(key)'
export const isAsync = false

/** @type {Create} */
export function create(connection, { limit, windowMs }) {
  return limiterOver(fixedWindow({ limit, window: windowMs }), connection)
}

/**
 * @param {Rule | Rule[]} rules
 * @param {Connection} connection
 * @returns {Limiter}
 */
export function limiterOver(rules, connection) {
  const limiter = createLimiter({ rules, store: sqliteStore(connection) })
  return {
    hit: (key) => limiter.hit(key),
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
  }
}
