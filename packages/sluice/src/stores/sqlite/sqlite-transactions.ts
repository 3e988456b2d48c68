// Transactions on a file that other processes use too.
// Invariants: a transaction that fails changes nothing, or its error is unknown. Nobody else has changed what a transaction has read
// when it commits a write.

import type { LockWait } from './lock-wait.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
import { commitErrorKind, isBusy, isPlainError, sqliteError, sqliteErrorKind } from './sqlite-errors.ts'

export class SqliteTransactions {
  readonly #wait: LockWait
  readonly #begin: SqliteStatement
  readonly #beginLocked: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #rollback: SqliteStatement
  /** True if a rollback has failed, so that its transaction may still be open. */
  #isLeftOpen = false

  constructor(database: SqliteDatabase, wait: LockWait) {
    this.#wait = wait
    this.#begin = database.prepare('BEGIN')
    this.#beginLocked = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#rollback = database.prepare('ROLLBACK')
  }

  /**
   * Runs `body` in a transaction, which takes the lock of the file at its first write. If another process has the lock, or has written
   * since the first read, `body` runs again behind the lock.
   */
  run<V>(body: () => V): V {
    try {
      return this.#attempt(this.#begin, body)
    } catch (error) {
      if (!isBusy(error)) throw sqliteError(error, sqliteErrorKind)
    }
    return this.runLocked(body)
  }

  /** Runs `body` behind the lock of the file. Waits for the lock. */
  runLocked<V>(body: () => V): V {
    try {
      return this.#wait.run(() => this.#attempt(this.#beginLocked, body))
    } catch (error) {
      throw sqliteError(error, sqliteErrorKind)
    }
  }

  /** Runs `body` if nothing stands in its way. For work that can be left to a later call: errors are ignored. */
  runIfFree(body: () => void): void {
    try {
      this.#attempt(this.#begin, body)
    } catch {}
  }

  /** Throws an error of SQLite only if no transaction is left, and `body` may run again. */
  #attempt<V>(begin: SqliteStatement, body: () => V): V {
    if (this.#isLeftOpen) this.#rollBack()
    begin.run()
    let sort = sqliteErrorKind
    try {
      const result = body()
      sort = commitErrorKind
      this.#commit.run()
      return result
    } catch (error) {
      this.#rollBack()
      throw isBusy(error) ? error : sqliteError(error, sort)
    }
  }

  #rollBack(): void {
    this.#isLeftOpen = false
    try {
      this.#rollback.run()
    } catch (error) {
      // After some errors SQLite has rolled back by itself, and there is no transaction any more.
      this.#isLeftOpen = !isPlainError(error)
    }
  }
}
