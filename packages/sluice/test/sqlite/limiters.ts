// Limiters over a file, and the errors of their calls.

import { createLimiter, type FailureOptions, fixedWindow, SluiceError } from '../../src/index.ts'
import type { SqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { fakeClock } from '../../src/testing/index.ts'

export const hourly = fixedWindow({ limit: 3, window: '1h', name: 'hourly' })

/** A limiter over a file, with a clock of its own. */
export function limiterOn(database: SqliteDatabase, failure: FailureOptions = {}, busyTimeoutMs = 20) {
  const clock = fakeClock()
  const store = sqliteStore(database, { clock, busyTimeoutMs })
  return { clock, store, limiter: createLimiter({ rules: hourly, store, failure }) }
}

export function codeOf(call: () => unknown): unknown {
  try {
    call()
    return 'none'
  } catch (error) {
    return error instanceof SluiceError ? error.code : error
  }
}
