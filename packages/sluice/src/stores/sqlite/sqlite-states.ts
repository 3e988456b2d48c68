// The states in a file of SQLite. The file is opened by the first call, and again after its tables were dropped.

import type { Clock } from '../../core/clock.ts'
import type { Cells, WriteFacts } from '../../engines/loaded-states.ts'
import { storeError } from '../../engines/store-errors.ts'
import { LockWait } from './lock-wait.ts'
import { RowBound } from './row-bound.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { isPlainError, sqliteError, sqliteErrorKind } from './sqlite-errors.ts'
import { BEFORE_ALL, makeTables, SqliteTable } from './sqlite-table.ts'
import { SqliteTransactions } from './sqlite-transactions.ts'

export interface StatesOptions {
  readonly database: SqliteDatabase
  readonly table: string
  readonly maxKeys: number
  readonly busyTimeoutMs: number
  readonly synchronous: 'normal' | 'full'
  readonly clock: Clock
  readonly random: () => number
}

interface OpenFile {
  readonly table: SqliteTable
  readonly bound: RowBound
  readonly transactions: SqliteTransactions
}

/** Number of rows that a transaction of `clean` looks at, so that other processes do not wait for long. */
const ROWS_A_STEP = 1000

export class SqliteStates {
  /** Number of states that were evicted before they had ended. */
  evictions = 0
  readonly #options: StatesOptions
  readonly #wait: LockWait
  #file: OpenFile | undefined
  /** The seed of the file, for the case that somebody deletes it there. */
  #seed: Int32Array | undefined
  /** Names of the states that the present call has read, and numbers of the states that it has written and evicted. */
  #read: string[] = []
  #written = 0
  #evicted = 0

  constructor(options: StatesOptions) {
    this.#options = options
    this.#wait = new LockWait(options.busyTimeoutMs, options.random)
  }

  /** Runs a call in a transaction, and then sweeps now and then. */
  transact<V>(body: () => V): V {
    return this.#withFile(({ bound, transactions }) => {
      const result = transactions.run(() => {
        this.#read.length = this.#written = this.#evicted = 0
        return body()
      })
      this.evictions += this.#evicted
      if (this.#written > 0) this.#wait.wasFree()
      if (bound.hasWritten(this.#written)) transactions.runIfFree(() => bound.sweep(this.#options.clock.now()))
      return result
    })
  }

  /** Reads a state, in `transact`. */
  read(name: string): Cells {
    this.#read.push(name)
    return this.#open().table.read(name)
  }

  /** Writes or removes a state, in `transact`. */
  write(name: string, cells: Cells, { isNew, share }: WriteFacts): void {
    const { table, bound } = this.#open()
    this.#written += 1
    if (cells === undefined) table.remove(name)
    else if (isNew) {
      const nowMs = this.#options.clock.now()
      const states = table.insert(name, { cells, share, nowMs })
      this.#evicted += bound.keep(states, nowMs, this.#read)
    } else table.update(name, cells, share)
  }

  /** Removes all states that have ended, in many small transactions. Returns their number. */
  clean(nowMs: number): number {
    return this.#withFile(({ table, transactions }) => {
      let removed = 0
      for (let after: number | undefined = BEFORE_ALL; after !== undefined; ) {
        const from: number = after
        const swept = transactions.runLocked(() => table.sweep(from, ROWS_A_STEP, nowMs))
        removed += swept.removed
        after = swept.last
      }
      return removed
    })
  }

  count(): number {
    return this.#withFile(({ table, transactions }) => transactions.run(() => table.count))
  }

  #withFile<V>(body: (file: OpenFile) => V): V {
    try {
      return body(this.#open())
    } catch (error) {
      const sorted = sqliteError(error, sqliteErrorKind)
      if (isPlainError(sorted.cause)) this.#file = undefined
      throw sorted
    }
  }

  #open(): OpenFile {
    if (this.#file === undefined) {
      const seed = this.#seed ?? crypto.getRandomValues(new Int32Array(2))
      this.#file = this.#wait.run(() => openFile(this.#options, this.#wait, seed))
      this.#seed = this.#file.table.seed
    }
    return this.#file
  }
}

function openFile(options: StatesOptions, wait: LockWait, seed: Int32Array): OpenFile {
  const { database, table: name, maxKeys, synchronous, random } = options
  // The store waits for locks by itself.
  database.exec(`PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; BEGIN IMMEDIATE`)
  let table: SqliteTable
  let isCleared: boolean
  try {
    makeTables(database, name, seed)
    table = new SqliteTable(database, name)
    isCleared = table.clearIfMisplaced()
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
  if (isCleared) throw storeError('refused', `the seed in the table ${name}_meta was lost, so all counts begin anew`)
  return { table, bound: new RowBound(table, maxKeys, random), transactions: new SqliteTransactions(database, wait) }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {}
}
