// The transaction engine over Postgres: works with every role that may read and write the table.

import type { TimerClock } from '../../core/clock.ts'
import type { Store } from '../../core/store.ts'
import { BackgroundSweep } from '../../engines/background-sweep.ts'
import { storeError } from '../../engines/store-errors.ts'
import { SPARED_MS } from '../../engines/sweeper.ts'
import { type Decide, transactionStore } from '../../engines/transaction.ts'
import { lockAndRead, readLocked, writeChanges } from './locked-rows.ts'
import type { PostgresConnections } from './postgres-client.ts'
import { isMissingTable, postgresErrorKind } from './postgres-errors.ts'
import { statementsOf } from './postgres-statements.ts'
import type { PostgresTable } from './postgres-table.ts'
import { TableSweep } from './table-sweep.ts'

export interface ModeOptions {
  readonly connections: PostgresConnections
  readonly table: PostgresTable
  /** A clock instead of the server's. Only for tests. */
  readonly clock: TimerClock | undefined
  readonly isDurable: boolean
  readonly sweepEveryMs: number
}

/** The longest time of a transaction. Then its connection is dropped, and the server frees its locks. */
export const LONGEST_MS = 5000

/** The longest wait for a lock. A call that waits longer is refused. */
export const LOCK_MS = 2000

/** Most transactions at once. Each needs a connection of the pool. */
const TRANSACTIONS = 4

/** Rows of a background sweep. */
export const SWEPT_ROWS = 2000

export function transactionMode(options: ModeOptions): Store<'async'> {
  const { connections, table, clock, isDurable, sweepEveryMs } = options
  const sweep = new TableSweep({ connections, table: () => table.ready(), nowMs: clock?.now })
  const background = new BackgroundSweep(sweepEveryMs, () => sweep.few({ rows: SWEPT_ROWS, endedForMs: SPARED_MS }))

  const lockOptions = { isDurable, lockMs: LOCK_MS, idleMs: LONGEST_MS }
  const statements = lastOf(statementsOf)

  async function transact(names: readonly string[], decide: Decide): Promise<void> {
    const name = await table.ready()
    await connections.transaction({
      statements: statements(name),
      longestMs: LONGEST_MS,
      first: (write) => lockAndRead(names, lockOptions, write),
      next(rows, write) {
        const { nowMs, values } = readLocked(rows, names)
        const changes = decide(values, clock?.now() ?? nowMs)
        if (changes.length > 0) background.wrote()
        return writeChanges({ names, values, changes }, write)
      },
    })
  }

  const orForget = <V>(asked: Promise<V>): Promise<V> => asked.catch((error: unknown) => onError(table, error))

  return transactionStore({
    ...(clock && { clock }),
    transactions: connections.isSingle ? 1 : TRANSACTIONS,
    longestMs: LONGEST_MS,
    transact: (names, decide) => orForget(transact(names, decide)),
    // `clean` asks for rows that have ended just now. Other sweeps are in the background.
    async sweep(bounds) {
      if (bounds.endedForMs === 0) return orForget(sweep.all(bounds))
      return sweepEveryMs === 0 ? 0 : orForget(sweep.few(bounds))
    },
    size: () => orForget(sizeOf(options)),
    close: async () => background.stop(),
    sortError: postgresErrorKind,
  })
}

/** Counts the rows. */
export async function sizeOf({ connections, table }: ModeOptions): Promise<number> {
  const [row] = await connections.query(`SELECT pg_catalog.count(*)::pg_catalog.text FROM ${await table.ready()}`)
  return Number(Object.values(row)[0])
}

/** If somebody has dropped the table, the call is tried again, and the table is made anew. */
function onError(table: PostgresTable, error: unknown): never {
  if (!isMissingTable(error)) throw error
  table.forget()
  throw storeError('refused', 'the table was dropped')
}

/** Returns the same function, which remembers its last result. A table that is made anew may be in another schema. */
function lastOf<V>(make: (name: string) => V): (name: string) => V {
  let last: { readonly name: string; readonly value: V } | undefined
  return (name) => {
    if (last?.name !== name) last = { name, value: make(name) }
    return last.value
  }
}
