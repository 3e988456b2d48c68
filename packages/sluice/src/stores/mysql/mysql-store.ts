// The MySQL store: the transaction engine over MySQL or MariaDB. Row locks keep processes apart, and the server's clock counts.

import type { Clock } from '../../core/clock.ts'
import { mustBe } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { BackgroundSweep } from '../../engines/background-sweep.ts'
import { SPARED_MS } from '../../engines/sweeper.ts'
import { checkedClock, LONGEST_TIMER_MS } from '../../engines/system-clock.ts'
import { transactionStore } from '../../engines/transaction.ts'
import { type MysqlClient, sessionsOf } from './mysql-client.ts'
import { mysqlErrorKind } from './mysql-errors.ts'
import { LONGEST_NAME, type MysqlSchemaOptions, MysqlTable } from './mysql-table.ts'
import { MysqlTransactions } from './mysql-transactions.ts'

export interface MysqlStoreOptions extends MysqlSchemaOptions {
  /** False if the table must exist already. Default: true, the store makes it. */
  readonly createTable?: boolean
  /** Time from a write to a sweep in the background, in ms. 0: only after every 1,000 written rows. Default: 10,000. */
  readonly sweepEveryMs?: number
  /** A clock instead of the server's own. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
}

export interface MysqlStore extends Store<'async'> {}

const OPTIONS = ['table', 'createTable', 'sweepEveryMs', 'clock'] as const

const SWEEP_EVERY_MS = 10_000

/** Rows of a sweep in the background. */
const SWEPT_ROWS = 2000

/** Transactions at once on a pool. Each uses a connection. */
const TRANSACTIONS = 4

/** Time after which a transaction is given up, and its connection closed. */
const LONGEST_MS = 5000

/** Makes a store in MySQL or MariaDB, for any number of processes. The caller makes and closes the pool or connection. */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): MysqlStore {
  checkOptions('mysqlStore', options, OPTIONS)
  const { createTable = true, sweepEveryMs = SWEEP_EVERY_MS, clock } = options
  if (typeof createTable !== 'boolean') throw mustBe('ERR_OPTION', 'createTable', 'true or false', createTable)
  if (!isWhole(sweepEveryMs, 0, LONGEST_TIMER_MS)) {
    throw mustBe('ERR_OPTION', 'sweepEveryMs', `a whole number from 0 to ${LONGEST_TIMER_MS}`, sweepEveryMs)
  }
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const sessions = sessionsOf(client)
  const transactions = new MysqlTransactions({
    sessions,
    table: new MysqlTable(options.table),
    createTable,
    // A transaction without changes is answered before its COMMIT, so that the next one may be there already.
    bounds: { most: 2 * TRANSACTIONS, longestMs: LONGEST_MS },
    clock: checked,
  })
  const background = new BackgroundSweep(sweepEveryMs, () => transactions.sweep({ rows: SWEPT_ROWS, endedForMs: SPARED_MS }))
  return transactionStore({
    ...(checked && { clock: checked }),
    transact: (names, decide) =>
      transactions.transact(names, (values, nowMs) => {
        const changes = decide(values, nowMs)
        if (changes.length > 0) background.wrote()
        return changes
      }),
    sweep: (bounds) => transactions.sweep(bounds),
    size: () => transactions.count(),
    close: async () => background.stop(),
    sortError: mysqlErrorKind,
    transactions: sessions.isPool ? TRANSACTIONS : 1,
    longestMs: LONGEST_MS,
    longestName: LONGEST_NAME,
  })
}
