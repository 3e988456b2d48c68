// The Postgres store: any number of processes share one table, on the server's clock.

import type { Clock } from '../../core/clock.ts'
import { mustBe } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { checkedClock, LONGEST_TIMER_MS } from '../../engines/system-clock.ts'
import { autoMode } from './auto-mode.ts'
import { functionMode } from './function-mode.ts'
import { type PostgresClient, postgresClient } from './postgres-client.ts'
import { PostgresFunctions } from './postgres-functions.ts'
import { PostgresTable, type TableOptions } from './postgres-table.ts'
import { transactionMode } from './transaction-mode.ts'

/**
 * - `function`: functions in the database decide: one round trip for all calls of a turn.
 * - `transaction`: rows are locked, decided in this process, and written: two round trips for all calls of a turn.
 * - `auto`: functions if they exist or the role may make them, transactions otherwise. Rules without a translation run in transactions.
 */
export type PostgresMode = 'auto' | 'function' | 'transaction'

export interface PostgresStoreOptions extends TableOptions {
  /** Default: `auto`. */
  readonly mode?: PostgresMode
  /**
   * True if an answer waits until Postgres has written it to disk. Default: false. Then a crash of the server loses the last
   * moments, at most three times its `wal_writer_delay` (together 0.6 s), and a hit takes no time of a disk.
   */
  readonly durable?: boolean
  /** The least time between two sweeps in the background, in ms. 0 leaves it to `clean`. Default: 10,000. */
  readonly sweepEveryMs?: number
  /** A clock instead of the server's own. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
}

export interface PostgresStore extends Store<'async'> {}

const OPTIONS = ['table', 'unlogged', 'createTable', 'mode', 'durable', 'sweepEveryMs', 'clock'] as const

const MODES: readonly unknown[] = ['auto', 'function', 'transaction'] satisfies PostgresMode[]

const SWEEP_EVERY_MS = 10_000

/** Makes a store in Postgres, for any number of processes. The caller connects and closes the client. */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions = {}): PostgresStore {
  checkOptions('postgresStore', options, OPTIONS)
  const { mode = 'auto', durable = false, sweepEveryMs = SWEEP_EVERY_MS, clock } = options
  if (!MODES.includes(mode)) throw mustBe('ERR_OPTION', 'mode', MODES.map((known) => `'${known}'`).join(' or '), mode)
  if (typeof durable !== 'boolean') throw mustBe('ERR_OPTION', 'durable', 'true or false', durable)
  if (!isWhole(sweepEveryMs, 0, LONGEST_TIMER_MS)) {
    throw mustBe('ERR_OPTION', 'sweepEveryMs', `a whole number from 0 to ${LONGEST_TIMER_MS}`, sweepEveryMs)
  }
  const connections = postgresClient(client)
  const table = new PostgresTable(connections, options)
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const modeOptions = { connections, table, clock: checked, isDurable: durable, sweepEveryMs }
  if (mode === 'transaction') return transactionMode(modeOptions)
  const functions = new PostgresFunctions(connections, table, options.createTable ?? true)
  return mode === 'function' ? functionMode(modeOptions, functions) : autoMode(modeOptions, functions)
}
