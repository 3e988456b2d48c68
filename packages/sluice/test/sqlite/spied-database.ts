// A connection whose statements can be watched, and made to fail.

import type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../src/stores/sqlite/sqlite-database.ts'

export interface Spies {
  /** Called before each execution of a statement. May throw in its place. */
  before?(sql: string): void
  /** Called with the rows that a statement has returned. */
  rows?(sql: string, rows: readonly unknown[]): void
}

export function spiedDatabase(database: SqliteDatabase, spies: Spies): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql): SqliteStatement {
      const statement = database.prepare(sql)
      const watched =
        <V>(run: (...values: SqliteValue[]) => V, rowsOf: (result: V) => readonly unknown[]) =>
        (...values: SqliteValue[]): V => {
          spies.before?.(sql)
          const result = run(...values)
          spies.rows?.(sql, rowsOf(result))
          return result
        }
      return {
        run: watched(
          (...values) => statement.run(...values),
          () => [],
        ),
        get: watched(
          (...values) => statement.get(...values),
          (row) => (row == null ? [] : [row]),
        ),
        all: watched(
          (...values) => statement.all(...values),
          (rows) => rows,
        ),
      }
    },
  }
}

/** An error as better-sqlite3 throws it. */
export function sqliteFailure(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code })
}
