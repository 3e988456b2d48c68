// Runs programs of SQL statements on a SQLite file.
// Invariant: a program runs without interruption. A transaction that waited for something else in this process could block it for ever.

import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, ServerError } from '../../errors.ts'
import { makeTables } from '../sql/record-tables.ts'
import type { Access, Program, Row, SqlDriver, Statement } from '../sql/sql-program.ts'
import type { SqliteConnection, SqliteFile } from './sqlite-file.ts'

/** One wait for a transaction of another process. It blocks this process. */
const BUSY_MS = 50

/** Longest pause between two waits. Other work runs meanwhile. */
const LONGEST_PAUSE_MS = 20

/** Time after which a program gives up. SQLite does not queue writers, so one of several may have to wait for long. */
const DEADLINE_MS = 3000

const BEGIN: Readonly<Record<Access, string>> = { read: 'BEGIN', write: 'BEGIN IMMEDIATE', own: 'BEGIN IMMEDIATE' }

export class SqliteDriver implements SqlDriver {
  readonly title = 'SQLite'
  readonly nowMs = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
  readonly #file: SqliteFile
  readonly #connection: SqliteConnection

  /** A committed change survives a loss of power. */
  constructor(file: SqliteFile) {
    this.#file = file
    this.#connection = file.connect(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`)
  }

  async transact<T>(access: Access, program: () => Program<T>): Promise<T> {
    const endMs = performance.now() + DEADLINE_MS
    for (;;) {
      try {
        return this.#attempt(access, program)
      } catch (error) {
        if (error instanceof ServerError) throw error
        if (!isLocked(error) || performance.now() > endMs) {
          throw new ServerError('ERR_DATA_WRITE', `SQLite could not be asked: ${messageOf(error)}`, { cause: error })
        }
      }
      await pause(Math.random() * LONGEST_PAUSE_MS)
    }
  }

  troubleOf(error: unknown): string {
    return `the SQLite file cannot be used (${messageOf(error instanceof ServerError ? error.cause : error)})`
  }

  /** Runs a program, and makes the tables if they do not exist. */
  #attempt<T>(access: Access, program: () => Program<T>): T {
    this.#file.checkIdentity()
    try {
      return this.#run(access, program())
    } catch (error) {
      if (!isMissingTable(error)) throw error
      this.#run('write', makeTables())
      return this.#run(access, program())
    }
  }

  #run<T>(access: Access, program: Program<T>): T {
    this.#connection.exec(BEGIN[access])
    try {
      let step = program.next()
      while (!step.done) step = program.next(this.#execute(step.value))
      this.#connection.exec('COMMIT')
      return step.value
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #execute({ text, values }: Statement): readonly Row[] {
    const statement = this.#connection.prepare(text)
    if (/^\s*SELECT\b/.test(text)) return statement.all(...values) as readonly Row[]
    statement.run(...values)
    return []
  }

  /** SQLite has rolled back by itself after some errors. Then there is nothing to roll back. */
  #rollBack(): void {
    try {
      this.#connection.exec('ROLLBACK')
    } catch {}
  }
}

function isLocked(error: unknown): boolean {
  return /database (table )?is locked/.test(messageOf(error))
}

function isMissingTable(error: unknown): boolean {
  return /no such table: sluice_/.test(messageOf(error))
}
