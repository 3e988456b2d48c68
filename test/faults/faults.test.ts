import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { QUICK_FAULTS } from './every-fault.mjs'

// The machine may stall a server for longer than the deadline of 200 ms, which this process does not see. So a fault that fails is run
// once more. A wrong count or a missing answer fails again.
describe.concurrent('faults', { retry: 1 }, () => {
  for (const { name, what, run } of QUICK_FAULTS) {
    // cut-replies opens many connections at once and would slow the others down. A hit that waits for the lock of a file blocks them.
    const testIt = name === 'cut-replies' || name.startsWith('sqlite-') ? test.sequential : test
    testIt(`${name}: ${what}`, async () => {
      for (const { target, wrong, failures } of await run()) expect({ target, wrong, failures }).toMatchObject({ wrong: [] })
    })
  }
})

describe('the door of the faults', () => {
  const door = fileURLToPath(new URL('faults.mjs', import.meta.url))
  const open = (...args: string[]) => spawnSync(process.execPath, [door, ...args], { encoding: 'utf8' })

  test('explains itself', () => {
    expect(open('--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/npm run faults[\s\S]*sigkill/) })
  })

  test('refuses what it does not know, with exit code 2 and a reason', () => {
    expect(open('--only', 'earthquake')).toMatchObject({ status: 2, stderr: expect.stringContaining('earthquake') })
    expect(open('--fast')).toMatchObject({ status: 2, stderr: expect.stringContaining('--fast') })
  })
})
