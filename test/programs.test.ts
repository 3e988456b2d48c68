// A machine with only Node can run the tests: `npm test` installs every program that they start.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PROGRAMS } from '../scripts/programs.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Every Debian system has the first four, and Node brings npm. A test that needs systemd-analyze runs only if it exists. */
const ELSEWHERE = ['sh', 'apt-get', 'mount', 'umount', 'npm', 'systemd-analyze']

const STARTS = /\b(?:spawn|spawnSync|launch|execFile|execFileSync|promisify\(execFile\))\(\s*'([^']+)'/g

function programsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs)$/.test(name) && !/node_modules|dist/.test(name) && !name.startsWith('fresh'))
    .flatMap((name) => [...readFileSync(join(root, folder, name), 'utf8').matchAll(STARTS)].map(([, program]) => program))
}

test('every program that a test starts is in the list of programs that npm test installs', () => {
  const started = new Set(['packages', 'scripts', 'test'].flatMap(programsIn))
  expect([...started]).toEqual(expect.arrayContaining(['redis-server', 'nginx', 'openssl']))
  const installed = PROGRAMS.flatMap(({ commands }) => commands)
  expect([...started].filter((program) => !installed.includes(program) && !ELSEWHERE.includes(program))).toEqual([])
})

test('npm run fresh explains itself, and refuses options that it does not know', () => {
  const fresh = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/fresh/fresh.mjs', ...args], { cwd: root, encoding: 'utf8' })
  expect(fresh('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--keep') })
  expect(fresh('--kep')).toMatchObject({ status: 2, stderr: expect.stringContaining("Unknown option '--kep'") })
})

test.each([
  ['npm run lock', 'scripts/lock-integrity.mjs'],
  ['npm run test:drain', 'test/drain/drain.mjs'],
])('%s explains itself, and refuses arguments that it does not know', (name, script) => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [script, ...args], { cwd: root, encoding: 'utf8', timeout: 20_000 })
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining(`Usage: ${name}\n`) })
  expect(run('--fast')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('cannot read --fast') })
})
