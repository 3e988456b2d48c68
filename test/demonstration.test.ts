import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const demo = fileURLToPath(new URL('../packages/sluice/demo/burst.mjs', import.meta.url))

function run(...args: string[]) {
  return spawnSync(process.execPath, [demo, ...args], { encoding: 'utf8' })
}

test('the demonstration shows the boundary burst, and who stops it', () => {
  const { status, stdout } = run('--fast')
  expect(status).toBe(0)
  expect(stdout).toMatch(/fixed window .* at most 20 in one second/)
  expect(stdout).toMatch(/sliding log .* at most 10 in one second/)
  expect(stdout).toMatch(/token bucket .* at most 16 in one second/)
})

test('it explains itself, and refuses what it does not know', () => {
  expect(run('--help').stdout).toMatch(/^Usage: npm run demo/)
  expect(run('--slow')).toMatchObject({ status: 2, stderr: expect.stringMatching(/unknown option --slow/) })
})
