// Files of SQLite: one for each contestant, through the same driver with the same settings.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** @typedef {import('better-sqlite3').Database} Connection */

/**
 * Opens a file in a folder of its own. `bytes` writes the log into the file and returns the size of the file. `remove` closes it.
 */
export function openFile() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(folder, 'bench.db')
  const connection = new Database(file)
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = NORMAL')
  return {
    connection,
    bytes() {
      connection.pragma('wal_checkpoint(TRUNCATE)')
      return statSync(file).size
    },
    remove() {
      connection.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
