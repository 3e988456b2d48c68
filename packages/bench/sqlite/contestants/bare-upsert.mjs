// Floor: one prepared statement per hit and nothing else. A key never ends, and none is ever removed. Every real limiter must do more.

/** @import { Create } from '../contestants.mjs' */

export const role = 'floor'
export const packageName = null
export const call = 'INSERT … ON CONFLICT DO UPDATE … RETURNING, then count <= limit; no expiry'
export const isAsync = false

/** @type {Create} */
export function create(connection, { limit }) {
  connection.exec('CREATE TABLE counts (key TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID')
  const upsert = connection.prepare(
    'INSERT INTO counts VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET count = count + 1 RETURNING count',
  )
  return {
    hit: (key) => upsert.get(key),
    isAllowed: ({ count }) => count <= limit,
  }
}
