import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const bench = fileURLToPath(new URL('../packages/bench/bench.mjs', import.meta.url))

function run(...args: string[]) {
  return spawnSync(process.execPath, [bench, ...args], { encoding: 'utf8' })
}

test('the bench explains itself', () => {
  const { status, stdout } = run('--help')
  expect(status).toBe(0)
  expect(stdout).toMatch(/npm run bench -- <name>[\s\S]*memory/)
})

test('it refuses what it does not know, with exit code 2 and a reason', () => {
  expect(run('memmory')).toMatchObject({ status: 2, stderr: expect.stringContaining('memmory') })
  expect(run('memory', '--fast')).toMatchObject({ status: 2, stderr: expect.stringContaining('--fast') })
  expect(run('memory', '--rounds', 'many')).toMatchObject({ status: 2, stderr: expect.stringContaining('many') })
})
