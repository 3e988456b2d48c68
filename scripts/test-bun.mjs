// Runs the tests under Bun, which comes from the npm package `bun`. It is no development dependency, because it takes 100 MB.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const VERSION = '1.4.4'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const args = ['exec', '--yes', `--package=bun@${VERSION}`, '--', 'bun', 'test/bun/bun.mjs']
const { status } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' })
process.exitCode = status ?? 1
