// Processes that are killed by SIGKILL, in fifty rounds: nothing that was answered is lost, and the file opens clean.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createLimiter, fixedWindow, tokenBucket } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { onlyValue, sqliteFiles } from './files.ts'

/** Rounds with this number of processes on one file. */
const ROUNDS = [
  { processes: 1, rounds: 40 },
  { processes: 2, rounds: 10 },
]
const LIMIT = 1e6

const files = sqliteFiles()
const rules = [
  fixedWindow({ limit: LIMIT, window: '1h', name: 'window' }),
  tokenBucket({ capacity: LIMIT, refill: 1, every: '1h', name: 'bucket' }),
]
const program = fileURLToPath(new URL('./hit-and-report.mjs', import.meta.url))

/** Starts a process and kills it `afterMs` after its first answer. Returns the number of answers that it has reported. */
async function killAfter(file: string, afterMs: number): Promise<number> {
  const child = spawn(process.execPath, [program, file, String(LIMIT)], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  const pipe = child.stdio[3] as NodeJS.ReadableStream
  let reported = 0
  pipe.on('data', (bytes: Buffer) => {
    reported += bytes.length
  })
  const ended = Promise.all([once(child, 'close'), once(pipe, 'close')])
  await once(pipe, 'data')
  await pause(afterMs)
  child.kill('SIGKILL')
  const [[, signal]] = await ended
  expect(signal).toBe('SIGKILL')
  return reported
}

describe.concurrent('after kill -9', () => {
  test.each(ROUNDS)(
    'no answered hit is lost, and the file is whole: $rounds rounds, processes: $processes',
    async ({ processes, rounds }) => {
      const file = files.fresh()
      const random = seededRandom()
      let before = 0
      for (let round = 0; round < rounds; round++) {
        const reports = await Promise.all(Array.from({ length: processes }, () => killAfter(file, random.whole(0, 30))))
        const reported = reports.reduce((sum, count) => sum + count, 0)
        const database = files.open(file)
        const limiter = createLimiter({ rules, store: sqliteStore(database) })
        const [counted, ofBucket] = rules.map(({ name }) => limiter.get('ada', { rule: name }))
        const what = `SEED=${random.seed}, round ${round}`
        expect(reported, what).toBeGreaterThan(0)
        // A process that is killed between its commit and its report has counted one hit more.
        expect(counted - before, what).toBeGreaterThanOrEqual(reported)
        expect(counted - before, what).toBeLessThanOrEqual(reported + processes)
        // A call is charged on both rules or on none.
        expect(ofBucket, what).toBe(counted)
        expect(onlyValue(database, 'PRAGMA integrity_check'), what).toBe('ok')
        const states = onlyValue(database, 'SELECT count(*) FROM sluice_states')
        expect(onlyValue(database, 'SELECT states FROM sluice_states_meta'), what).toBe(states)
        before = counted
        database.close()
      }
    },
    120_000,
  )
})
