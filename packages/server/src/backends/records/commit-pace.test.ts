import { expect, test } from 'vitest'
import { CommitPace } from './commit-pace.ts'

/** Returns the time for which a commit has to wait. */
async function waitOf(pace: CommitPace): Promise<number> {
  const startMs = performance.now()
  await pace.wait()
  return performance.now() - startMs
}

/** A timer may fire a little early. */
const EARLY_MS = 2

test('an instance alone never waits', async () => {
  const pace = new CommitPace()
  for (let i = 0; i < 3; i++) {
    pace.committed(performance.now() - 10_000)
    expect(await waitOf(pace)).toBeLessThan(50)
  }
})

test('after a commit, an instance that has seen changes of others waits about as long as the commit took', async () => {
  const pace = new CommitPace()
  pace.sawOthers()
  expect(await waitOf(pace)).toBeLessThan(50)
  pace.committed(performance.now() - 100)
  expect(await waitOf(pace)).toBeGreaterThanOrEqual(50 - EARLY_MS)
  // The time is over, so that the next commit need not wait again.
  expect(await waitOf(pace)).toBeLessThan(50)
})

test('the wait is bounded, however long the commit took', async () => {
  const pace = new CommitPace()
  pace.sawOthers()
  pace.committed(performance.now() - 60_000)
  const tookMs = await waitOf(pace)
  expect(tookMs).toBeGreaterThanOrEqual(250 - EARLY_MS)
  // A busy machine may add to the 250 ms, but not a minute.
  expect(tookMs).toBeLessThan(20_000)
})
