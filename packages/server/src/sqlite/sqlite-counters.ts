// Counters in a SQLite file.

import { sqliteStore } from 'sluice/sqlite'
import type { OpenedDatabase } from '../database.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** Longest wait for a transaction of another process. It blocks this process. */
const LONGEST_BUSY_MS = 500

type Counters = Pick<OpenedDatabase, 'store' | 'size' | 'evictions'>

export function sqliteCounters(file: SqliteFile, limits: { readonly maxKeys: number; readonly timeoutMs: number }): Counters {
  const busyTimeoutMs = Math.min(limits.timeoutMs, LONGEST_BUSY_MS)
  const store = sqliteStore(file.connect(`PRAGMA busy_timeout = ${busyTimeoutMs}`), { maxKeys: limits.maxKeys, busyTimeoutMs })
  return {
    store,
    size: () => unlessFailed(() => store.size),
    evictions: () => store.evictions,
  }
}

function unlessFailed<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
