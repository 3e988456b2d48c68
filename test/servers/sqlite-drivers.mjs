// The drivers of SQLite that this runtime can load. better-sqlite3 is an optional dependency with a binary for one version of Node.
// node:sqlite comes with Node 22.13 and newer.

import { createRequire } from 'node:module'

/** @import { SqliteDatabase } from 'sluice/sqlite' */

/** @typedef {SqliteDatabase & { close(): void }} OpenDatabase */
/** @typedef {(file: string) => OpenDatabase} Open */

const load = createRequire(import.meta.url)

/** Each returns a function that opens a file, or throws. @type {Readonly<Record<string, () => Open>>} */
const LOADERS = {
  'better-sqlite3'() {
    const Database = load('better-sqlite3')
    // The binary is loaded with the first database.
    new Database(':memory:').close()
    return (file) => new Database(file)
  },
  'node:sqlite'() {
    const { DatabaseSync } = load('node:sqlite')
    return (file) => new DatabaseSync(file)
  },
}

/** By name, the best first. @type {Readonly<Record<string, Open>>} */
export const DRIVERS = loadAll()

function loadAll() {
  /** @type {Record<string, Open>} */
  const drivers = {}
  const reasons = []
  for (const [name, loader] of Object.entries(LOADERS)) {
    try {
      drivers[name] = loader()
    } catch (error) {
      reasons.push(`${name}: ${String(error).split('\n')[0]}`)
    }
  }
  if (Object.keys(drivers).length > 0) return drivers
  throw new Error(
    'SQLite cannot be tested here. Run "npm rebuild better-sqlite3" with this version of Node (it needs a C++ compiler, or a network for ' +
      `its binary), or use Node 22.13 or newer, which has node:sqlite. ${reasons.join('; ')}`,
  )
}

/**
 * Opens a file with the given driver. Default: the first one.
 * @param {string} file
 * @param {string} [driver]
 */
export function openSqlite(file, driver = Object.keys(DRIVERS)[0]) {
  return DRIVERS[driver](file)
}
