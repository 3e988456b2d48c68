// Builds the web pages if their sources have changed since the last build. They go into the server's dist, so that a
// packed server contains them.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DASHBOARD = join(ROOT, 'packages', 'dashboard')

/** The sources of the pages: their own, the library that the playground runs, and the contract of the API. */
const SOURCES = [
  'packages/dashboard/src',
  'packages/dashboard/public',
  'packages/dashboard/package.json',
  'packages/dashboard/vite.config.ts',
  'packages/dashboard/index.html',
  'packages/dashboard/playground.html',
  'packages/dashboard/not-found.html',
  'packages/sluice/src',
  'packages/client/src',
  'package-lock.json',
]

/** File beside the pages with the hash of their sources. */
const STAMP = '.built-from'

/** The folder with the built pages. */
export const PAGES_FOLDER = join(ROOT, 'packages', 'server', 'dist', 'dashboard')

export const VITE_CONFIG = join(DASHBOARD, 'vite.config.ts')

/** Several processes may call this at once. Each builds for itself, and moves its result into place as a whole. */
export async function buildDashboard() {
  const made = fingerprint()
  if (isBuiltFrom(made)) return
  const outDir = `${PAGES_FOLDER}.${process.pid}`
  await build({ configFile: VITE_CONFIG, logLevel: 'warn', build: { outDir } })
  writeFileSync(join(outDir, STAMP), made)
  const old = `${outDir}.old`
  try {
    // The old pages are moved away as a whole. To delete them in place would delete files of another process that moves its result there.
    if (existsSync(PAGES_FOLDER)) renameSync(PAGES_FOLDER, old)
    renameSync(outDir, PAGES_FOLDER)
  } catch (error) {
    rmSync(outDir, { recursive: true, force: true })
    if (!isBuiltFrom(made)) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** @param {string} made */
function isBuiltFrom(made) {
  const stamp = join(PAGES_FOLDER, STAMP)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === made
}

function fingerprint() {
  const hash = createHash('sha256').update(process.version)
  for (const source of SOURCES) {
    for (const file of filesOf(join(ROOT, source))) hash.update(`${file}\0`).update(readFileSync(file))
  }
  return hash.digest('hex')
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesOf(path) {
  if (!existsSync(path)) return []
  try {
    const entries = readdirSync(path, { withFileTypes: true, recursive: true })
    return entries
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOTDIR') return [path]
    throw error
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDashboard()
