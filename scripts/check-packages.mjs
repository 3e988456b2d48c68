// Packs each public package as it would be published, and checks the result with publint and attw.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules', '.bin')

for (const name of readdirSync(join(root, 'packages'))) {
  const folder = join(root, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (manifest.private) continue
  const out = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    run('npm', ['pack', '--silent', '--pack-destination', out], folder)
    const packed = join(out, readdirSync(out)[0])
    run(join(bin, 'publint'), ['run', packed, '--strict'], root)
    run(join(bin, 'attw'), [packed, '--profile', 'esm-only'], root)
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return
  console.error(error?.message ?? `${command} ${args.join(' ')}\n${stdout}${stderr}`)
  process.exit(1)
}
