// Packs each public package as it would be published, and checks the result with publint and attw. The maps of a package must
// lead to sources that are packed too.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mapFaults, packedFiles, publicPackages } from './packed-package.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = join(ROOT, 'node_modules', '.bin')

for (const folder of publicPackages()) {
  const faults = mapFaults(folder, packedFiles(folder))
  if (faults.length > 0) fail(`${folder}: ${faults.join('\n')}`)
  const out = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    run('npm', ['pack', '--silent', '--pack-destination', out], folder)
    const packed = join(out, readdirSync(out)[0])
    run(join(BIN, 'publint'), ['run', packed, '--strict'], ROOT)
    run(join(BIN, 'attw'), [packed, '--profile', 'esm-only'], ROOT)
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) fail(error?.message ?? `${command} ${args.join(' ')}\n${stdout}${stderr}`)
}

/** @param {string} message */
function fail(message) {
  console.error(message)
  process.exit(1)
}
