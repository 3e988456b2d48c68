// The files of SQLite that faults run against.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'sluice/sqlite'
import { mountTmpfs } from '../servers/full-disk.mjs'
import { openSqlite } from '../servers/sqlite-drivers.mjs'

/** @import { Opened } from './clients.mjs' */

/** A file in a folder of its own. */
export async function sqliteFile() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'))
  return {
    ...environmentOf(join(folder, 'counts.db')),
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A file on a small disk, which can be filled. */
export async function sqliteOnSmallDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'))
  const disk = mountTmpfs(folder, 8)
  if (disk === undefined) throw new Error('only root can mount a file system')
  return {
    ...environmentOf(disk.path('counts.db')),
    disk,
    async stop() {
      disk.unmount()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** @param {string} file */
function environmentOf(file) {
  const open = () => openFile(file)
  return { file, open, openObserver: open, servers: () => [], leftovers: async () => [] }
}

/**
 * @param {string} file
 * @returns {Opened}
 */
function openFile(file) {
  const database = openSqlite(file)
  return {
    makeStore: (prefix) => sqliteStore(database, { table: prefix.replaceAll('-', '_') }),
    connect() {},
    close: () => database.close(),
    pending: () => 0,
  }
}
