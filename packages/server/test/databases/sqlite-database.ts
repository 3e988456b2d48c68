// A SQLite file for tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findSqlite, type SqliteConnection } from '../../src/backends/sqlite/sqlite-file.ts'
import { SqlRecords } from './sql-records.ts'
import type { TestDatabase } from './test-database.ts'

export class SqliteTestDatabase extends SqlRecords implements TestDatabase {
  readonly title = 'SQLite'
  readonly folder: string
  readonly path: string
  readonly #connection: SqliteConnection

  private constructor(folder: string, connection: SqliteConnection) {
    super(
      async (statements) => rowsOf(connection, statements),
      "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    )
    this.folder = folder
    this.path = join(folder, 'sluice.db')
    this.#connection = connection
  }

  static async start(): Promise<SqliteTestDatabase> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'))
    const connection = (await findSqlite())(join(folder, 'sluice.db'))
    connection.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL')
    return new SqliteTestDatabase(folder, connection)
  }

  get store(): string {
    return `sqlite:${this.path}`
  }

  /** Locks the file. */
  async kill(): Promise<void> {
    this.#connection.exec('BEGIN EXCLUSIVE')
  }

  async start(): Promise<void> {
    this.#connection.exec('ROLLBACK')
  }

  async stop(): Promise<void> {
    this.#connection.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function rowsOf(connection: SqliteConnection, statements: readonly string[]): readonly Record<string, unknown>[] {
  const isRead = statements.at(-1)?.startsWith('SELECT') ?? false
  connection.exec(statements.slice(0, isRead ? -1 : undefined).join(';'))
  return isRead ? (connection.prepare(statements.at(-1) ?? '').all() as Record<string, unknown>[]) : []
}
