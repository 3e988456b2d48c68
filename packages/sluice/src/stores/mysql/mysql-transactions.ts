// Transactions at the level READ COMMITTED. Each has two halves: the first locks and reads, the second writes and commits.
// A half is one round trip on MariaDB, and on a connection with `multipleStatements`. Otherwise each statement is one.
// Invariants: rows that exist are locked in the order of their names before the clock is read. A row that does not exist cannot be
// locked: two transactions may both find none, and the one that inserts it second fails and runs again. A transaction runs again only
// after an error that certainly changed nothing.

import type { Clock } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import { sortedError, storeError } from '../../engines/store-errors.ts'
import type { Sweep } from '../../engines/sweeper.ts'
import { systemClock } from '../../engines/system-clock.ts'
import type { Decide } from '../../engines/transaction.ts'
import { type BorrowBounds, type BorrowedConnection, BorrowedConnections } from './borrowed-connections.ts'
import type { Rows, Sessions } from './mysql-client.ts'
import { isConflict, isMissingTable, isParseError, mysqlErrorKind } from './mysql-errors.ts'
import { BEGIN, CLOCK, COMMIT, type MysqlTable, nameIn, READ_COMMITTED } from './mysql-table.ts'

/** The most runs of one transaction. Each run after a conflict finds the row that it was about. */
const ATTEMPTS = 10

/** Pauses between runs are random, and this much longer after each run, in ms. */
const PAUSE_MS = 4

/** Rows that one statement of a sweep deletes. */
const ROWS_DELETED = 500

/** The clock of a statement may lag so far behind the server's. A longer lag means that it does not follow it. */
const LONGEST_LAG_SECONDS = 60

export interface MysqlTransactionsOptions {
  readonly sessions: Sessions
  readonly table: MysqlTable
  /** False if the table must exist already. */
  readonly createTable: boolean
  readonly bounds: BorrowBounds
  /** A clock instead of the server's. */
  readonly clock: Clock | undefined
}

export class MysqlTransactions {
  readonly #options: MysqlTransactionsOptions
  readonly #table: MysqlTable
  readonly #connections: BorrowedConnections
  /** Set when the table was found. */
  #ready: Promise<void> | undefined
  /** True if the server takes several statements as one compound statement, as MariaDB does. */
  #isCompound = false

  constructor(options: MysqlTransactionsOptions) {
    this.#options = options
    this.#table = options.table
    this.#connections = new BorrowedConnections(options.sessions, options.bounds)
  }

  /** Runs a transaction of the engine. */
  transact(names: readonly string[], decide: Decide): Promise<void> {
    return againAfterConflict(() => this.#transactOnce(names, decide))
  }

  /** Deletes rows that have ended. */
  async sweep(bounds: Parameters<Sweep>[0]): Promise<number> {
    const nowMs = this.#options.clock?.now()
    const [ended] = await this.#read([this.#table.ended(bounds, nowMs)])
    const names = ended.map(([name]) => nameIn(name)).sort()
    let deleted = 0
    for (let i = 0; i < names.length; i += ROWS_DELETED) {
      const statements = this.#table.sweep(names.slice(i, i + ROWS_DELETED), bounds.endedForMs, nowMs)
      const [[[count]]] = await this.#read(statements)
      deleted += Number(count)
    }
    return deleted
  }

  async count(): Promise<number> {
    const [[[count]]] = await this.#read([this.#table.count])
    return Number(count)
  }

  async #transactOnce(names: readonly string[], decide: Decide): Promise<void> {
    const connection = await this.#open()
    let mayHaveWritten = false
    try {
      const [rows, clock] = await this.#run(connection, [...BEGIN, this.#table.lock(names), CLOCK])
      const values = new Map(rows.map(([name, value]) => [nameIn(name), value as Uint8Array]))
      const changes = decide(values, this.#options.clock?.now() ?? timeIn(clock))
      // Without changes there is nothing to wait for.
      if (changes.length === 0) return void connection.finish(COMMIT)
      mayHaveWritten = true
      await this.#run(connection, [...this.#table.write(changes, (name) => values.has(name)), COMMIT])
      connection.release()
    } catch (error) {
      await connection.rollBack(error)
      if (isMissingTable(error)) throw this.#tableIsGone(error)
      throw mayHaveWritten || isConflict(error) ? error : sortedError(error, mysqlErrorKind, 'refused')
    }
  }

  /** Runs statements as a transaction of their own. Resolves to their rows. */
  #read(statements: readonly string[]): Promise<readonly Rows[]> {
    return againAfterConflict(async () => {
      const connection = await this.#open()
      try {
        const rows = await this.#run(connection, [...BEGIN, ...statements, COMMIT])
        connection.release()
        return rows
      } catch (error) {
        await connection.rollBack(error)
        throw isMissingTable(error) ? this.#tableIsGone(error) : error
      }
    })
  }

  /** Makes the error after somebody has dropped the table. The next transaction looks for it again. */
  #tableIsGone(error: unknown): SluiceError {
    this.#ready = undefined
    return new SluiceError('ERR_STORE_REFUSED', `the table ${this.#table.name} was dropped`, { cause: error })
  }

  async #run(connection: BorrowedConnection, statements: readonly string[]): Promise<readonly Rows[]> {
    if (this.#isCompound) return connection.send(compound(statements))
    if (connection.session.hasMultipleStatements) return connection.send(statements.join(';'))
    const rows: Rows[] = []
    for (const statement of statements) rows.push(...(await connection.send(statement)))
    return rows
  }

  async #open(): Promise<BorrowedConnection> {
    const connection = await this.#connections.open()
    try {
      this.#ready ??= this.#prepare(connection)
      await this.#ready
      return connection
    } catch (error) {
      this.#ready = undefined
      await connection.rollBack(error)
      throw sortedError(error, mysqlErrorKind, 'refused')
    }
  }

  /** Asks for the version of the server, and finds or makes the table. */
  async #prepare(connection: BorrowedConnection): Promise<void> {
    // Fails inside a transaction of the application, which the next statements would commit.
    await connection.send(READ_COMMITTED)
    const [rows] = await connection.send('SELECT VERSION()')
    const version = rows?.[0]?.[0]
    if (typeof version !== 'string') throw storeError('fatal', 'the client does not answer as mysql2 does')
    this.#isCompound = /mariadb/i.test(version) && (await takesCompound(connection))
    const [found] = await connection.send(this.#table.description)
    if (found.length > 0) this.#table.check(found[0])
    else await this.#make(connection)
    await connection.send(COMMIT)
  }

  async #make(connection: BorrowedConnection): Promise<void> {
    const { name, schema, description } = this.#table
    if (!this.#options.createTable) throw storeError('fatal', `there is no table ${name}: run the SQL of mysqlSchema()`)
    try {
      await connection.send(schema)
    } catch (error) {
      if (mysqlErrorKind(error) !== 'fatal') throw error
      const message = `the table ${name} does not exist and cannot be made: run the SQL of mysqlSchema() as a user who may`
      throw new SluiceError('ERR_STORE_FATAL', message, { cause: error })
    }
    // Another process may have made a table of another version in the meantime.
    const [made] = await connection.send(description)
    if (made.length > 0) this.#table.check(made[0])
  }
}

/** Several statements as one. An error ends it, and the statements after it do not run. */
function compound(statements: readonly string[]): string {
  return `BEGIN NOT ATOMIC ${statements.join(';')}; END`
}

/** True if the server takes compound statements. With sql_mode ORACLE, MariaDB does not. */
async function takesCompound(connection: BorrowedConnection): Promise<boolean> {
  try {
    await connection.send(compound(['SELECT 1']))
    return true
  } catch (error) {
    if (isParseError(error)) return false
    throw error
  }
}

async function againAfterConflict<V>(run: () => Promise<V>): Promise<V> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error
      await new Promise<void>((resolve) => systemClock.after(Math.random() * attempt * PAUSE_MS, resolve))
    }
  }
}

/** Returns the server's time. Refuses a clock that does not follow the server's. */
function timeIn([[nowMs, lagSeconds]]: Rows): number {
  if (Math.abs(Number(lagSeconds)) <= LONGEST_LAG_SECONDS) return Number(nowMs)
  const message = "the session's clock does not follow the server's: is the session variable timestamp set?"
  throw storeError('refused', message)
}
