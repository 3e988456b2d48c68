// Finds PostgreSQL's server programs. Debian keeps them outside of the PATH, in a folder of their version.

import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const VERSIONS = '/usr/lib/postgresql'

/** The folder with `initdb` and `postgres`. Undefined if there is none. */
export function findPostgres() {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((one, other) => Number(other) - Number(one)) : []
  const folders = [...versions.map((version) => join(VERSIONS, version, 'bin')), ...(process.env.PATH ?? '').split(delimiter)]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}
