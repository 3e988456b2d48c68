// Files of SQLite for tests: each in a folder of its own, which is removed after the tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openSqlite } from '../../../../test/servers/sqlite-drivers.mjs'
import type { SqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts'

export type OpenDatabase = SqliteDatabase & { close(): void }

/** Returns functions that make files and connections. Connections are closed, and files removed, after the tests of the file. */
export function sqliteFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'))
  const opened: OpenDatabase[] = []
  let files = 0
  afterAll(() => {
    for (const database of opened) closeQuietly(database)
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    fresh: () => join(folder, `${files++}.db`),
    open(file: string, driver?: string): OpenDatabase {
      const database = openSqlite(file, driver)
      opened.push(database)
      return database
    },
  }
}

/** Some tests have closed their connection. */
function closeQuietly(database: OpenDatabase): void {
  try {
    database.close()
  } catch {}
}

let tables = 0

export function freshTable(): string {
  return `test_${tables++}`
}

/** Returns the only value of the only row. */
export function onlyValue(database: SqliteDatabase, sql: string): unknown {
  return Object.values(database.prepare(sql).get() as object)[0]
}
