// The port to SQLite: the members of a connection that the store uses. node:sqlite, better-sqlite3 and bun:sqlite have them, and none
// of them is imported.

import { SluiceError, show } from '../../core/errors.ts'

export type SqliteValue = string | number | Uint8Array

export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown
  /** Returns the first row; undefined or null if there is none. */
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): readonly unknown[]
}

/** A connection: `DatabaseSync` of node:sqlite, or `Database` of better-sqlite3 or bun:sqlite. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

export function checkDatabase(database: unknown): asserts database is SqliteDatabase {
  const { exec, prepare } = (database ?? {}) as Partial<SqliteDatabase>
  if (typeof exec === 'function' && typeof prepare === 'function') return
  const message = `sqliteStore takes a connection of node:sqlite, better-sqlite3 or bun:sqlite, got ${show(database)}`
  throw new SluiceError('ERR_OPTION', message, { option: 'database', value: database })
}
