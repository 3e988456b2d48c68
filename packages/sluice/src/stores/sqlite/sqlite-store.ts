// The SQLite store: the in-place engine over a table in a file. It answers at once, and the processes of a machine share the file.
// Invariant: a call is one transaction.

import type { Clock } from '../../core/clock.ts'
import { mustBe } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { inPlaceStore } from '../../engines/in-place.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import { checkDatabase, type SqliteDatabase } from './sqlite-database.ts'
import { sqliteErrorKind } from './sqlite-errors.ts'
import { SqliteStates } from './sqlite-states.ts'

export interface SqliteStoreOptions {
  /** Name of the table. It is made by the first call, with a second table whose name ends in `_meta`. Default: `sluice_states`. */
  readonly table?: string
  /** The most states that are kept: one for each rule and key. Beyond, states that have used little are evicted. Default: 1,000,000. */
  readonly maxKeys?: number
  /** Time that a call sleeps while it waits for the lock of the file, in ms. The wait blocks the process. Default: 100. */
  readonly busyTimeoutMs?: number
  /**
   * `'normal'`: an answered call survives the end of the process. `'full'`: it also survives the loss of power, and each call waits
   * for the disk. Default: `'normal'`.
   */
  readonly synchronous?: 'normal' | 'full'
  /** A clock instead of the system's. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
}

export interface SqliteStore extends Store<'sync'> {
  /** Number of states that this process has evicted before they had ended. */
  readonly evictions: number
}

const OPTIONS = ['table', 'maxKeys', 'busyTimeoutMs', 'synchronous', 'clock'] as const

const DEFAULT_MAX_KEYS = 1_000_000
const DEFAULT_BUSY_MS = 100
const LONGEST_BUSY_MS = 60_000

const TABLE_NAME = /^[A-Za-z_]\w{0,59}$/
const SYNCHRONOUS: readonly unknown[] = ['normal', 'full'] satisfies SqliteStoreOptions['synchronous'][]

/** Makes a store in a file of SQLite. The caller opens and closes the connection. Nothing else may use it in a transaction. */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  checkOptions('sqliteStore', options, OPTIONS)
  checkDatabase(database)
  const { table = 'sluice_states', maxKeys = DEFAULT_MAX_KEYS, busyTimeoutMs = DEFAULT_BUSY_MS, synchronous = 'normal' } = options
  if (typeof table !== 'string' || !TABLE_NAME.test(table) || /^sqlite_/i.test(table)) {
    throw mustBe(
      'ERR_OPTION',
      'table',
      '1 to 60 letters, digits and underscores that do not begin with a digit or sqlite_',
      table,
    )
  }
  if (!isWhole(maxKeys, 1)) throw mustBe('ERR_OPTION', 'maxKeys', 'a whole number of at least 1', maxKeys)
  if (!isWhole(busyTimeoutMs, 0, LONGEST_BUSY_MS)) {
    throw mustBe('ERR_OPTION', 'busyTimeoutMs', `a whole number from 0 to ${LONGEST_BUSY_MS}`, busyTimeoutMs)
  }
  if (!SYNCHRONOUS.includes(synchronous)) throw mustBe('ERR_OPTION', 'synchronous', "'normal' or 'full'", synchronous)
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
  const states = new SqliteStates({ database, table, maxKeys, busyTimeoutMs, synchronous, clock, random: Math.random })
  const store = inPlaceStore({
    clock,
    transact: (body) => states.transact(body),
    read: (name) => states.read(name),
    write: (name, cells, facts) => states.write(name, cells, facts),
    clean: (nowMs) => states.clean(nowMs),
    size: () => states.count(),
    sortError: sqliteErrorKind,
  })
  return Object.defineProperty(store, 'evictions', { get: () => states.evictions, enumerable: true }) as SqliteStore
}
