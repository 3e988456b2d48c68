// Counters in a SQLite file.
// Invariant: nothing is counted in a file that was deleted or replaced a while ago. The counts would be lost, and other instances would
// not see them.

import { sqliteStore } from 'sluice/sqlite'
import type { OpenedDatabase } from '../database.ts'
import type { SqliteConnection, SqliteFile } from './sqlite-file.ts'

/** Longest wait for a transaction of another process. It blocks this process. */
const LONGEST_BUSY_MS = 500

type Counters = Pick<OpenedDatabase, 'store' | 'size' | 'evictions'>

export function sqliteCounters(file: SqliteFile, limits: { readonly maxKeys: number; readonly timeoutMs: number }): Counters {
  const busyTimeoutMs = Math.min(limits.timeoutMs, LONGEST_BUSY_MS)
  const connection = file.connect(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  const store = sqliteStore(checkedConnection(connection, file), { maxKeys: limits.maxKeys, busyTimeoutMs })
  return {
    store,
    size: () => unlessFailed(() => store.size),
    evictions: () => store.evictions,
  }
}

/** Returns a connection that begins no transaction in a replaced file. */
function checkedConnection(connection: SqliteConnection, file: SqliteFile): Omit<SqliteConnection, 'close'> {
  return {
    exec(sql) {
      file.checkRecentIdentity()
      return connection.exec(sql)
    },
    prepare(sql) {
      const statement = connection.prepare(sql)
      if (!sql.startsWith('BEGIN')) return statement
      return {
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values),
        run(...values) {
          file.checkRecentIdentity()
          return statement.run(...values)
        },
      }
    },
  }
}

function unlessFailed<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
