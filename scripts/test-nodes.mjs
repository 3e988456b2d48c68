// Runs the tests on every Node version that Sluice supports, each taken from the npm package `node`.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const VERSIONS = [20, 22, 24, 26]

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const failed = []
for (const version of VERSIONS) {
  console.log(`\nNode ${version}`)
  const args = [
    'exec',
    '--yes',
    `--package=node@${version}`,
    '--',
    'node',
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=dot',
  ]
  const { status } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) failed.push(version)
}
console.log(`\n${VERSIONS.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 ? 0 : 1
