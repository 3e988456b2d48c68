// `npm run lock`: adds missing integrity hashes to package-lock.json, if the registry has them. npm leaves a hash out if
// the registry did not have the package when the lock file was made.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lockEntries } from './lock-entries.mjs'

const HELP = `Usage: npm run lock

Gives entries of package-lock.json that have no hash the one that the registry knows, and names those that it does not know.

  --help   show this`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
if (args.length > 0) {
  console.error(`cannot read ${args.join(' ')}\n\n${HELP}`)
  process.exit(2)
}

const FILE = fileURLToPath(new URL('../package-lock.json', import.meta.url))
const lock = JSON.parse(readFileSync(FILE, 'utf8'))
const unknown = []
for (const { name, entry } of lockEntries(lock)) {
  if (entry.integrity !== undefined) continue
  const { stdout } = spawnSync('npm', ['view', `${name}@${entry.version}`, 'dist.integrity'], { encoding: 'utf8' })
  const integrity = stdout.trim()
  if (integrity.startsWith('sha512-')) entry.integrity = integrity
  else unknown.push(`${name}@${entry.version}`)
}
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
for (const each of unknown) console.log(`${each} is not in the registry`)
