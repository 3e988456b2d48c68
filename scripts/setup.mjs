// Prepares a clone: installs from the lock file if node_modules is missing or older, and builds changed sources. Needs only
// Node and npm. Runs before `npm start` and `npm test`.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeStaleOutputs } from './stale-outputs.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STAMP = `${ROOT}node_modules/.sluice-setup`

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) fail(`Sluice needs Node 20.19 or newer, this is ${process.version}`)

const installed = `${process.version} ${createHash('sha256')
  .update(readFileSync(`${ROOT}package-lock.json`))
  .digest('hex')}`
if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== installed) {
  console.log('Installing from the lock file (once) …')
  run('npm', ['ci', '--no-audit', '--no-fund'])
  writeFileSync(STAMP, installed)
}
for (const name of readdirSync(join(ROOT, 'packages'))) removeStaleOutputs(join(ROOT, 'packages', name))
run(process.execPath, ['node_modules/typescript/bin/tsc', '-b'])
run(process.execPath, ['scripts/build-dashboard.mjs'])

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' })
  if (error) fail(`${command} could not be started: ${error.message}`)
  if (status !== 0) fail(`${command} ${args.join(' ')} failed: see above`)
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message)
  process.exit(1)
}
