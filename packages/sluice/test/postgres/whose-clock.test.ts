// Real time: the server's clock decides, also if the clocks of the processes are wrong.

import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { fixedWindow } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts'
import type { MethodCall } from '../processes/asked-process.ts'
import { expectRefusal, expectSharedWindows, HOUR_MS, SKEWS_MS } from '../processes/skewed-calendars.ts'
import { limiterProcesses } from './limiter-processes.ts'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from './real-postgres.ts'

const server = realPostgres()
const pool = clientFor(() => openPool(server.it.url))
const processes = limiterProcesses(() => server.it.url, SKEWS_MS)

async function serverNowMs(): Promise<number> {
  const [{ nowMs }] = await server.it.query('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"')
  return nowMs
}

test('processes whose clocks are an hour slow, right, and an hour fast see the same state', async () => {
  const table = freshTable()
  const rules: readonly RuleSpec[] = [{ algorithm: 'fixed-window', limit: 6, window: 60_000 }]
  const ask = async (process: number, ...calls: [string, ...unknown[]][]) => processes.it[process].ask({ rules, table, calls })
  const beforeMs = await serverNowMs()
  const clocks = []
  for (const process of [0, 1, 2]) {
    const { answers, nowMs } = await ask(process, ['hit', 'ada'], ['hit', 'ada'])
    clocks.push(nowMs)
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true])
  }
  expect(clocks[2] - clocks[0]).toBeGreaterThan(2 * HOUR_MS - 5000)
  for (const process of [0, 1, 2]) {
    const { answers } = await ask(process, ['hit', 'ada'], ['expiresAt', 'ada'])
    expect(answers[0].allowed).toBe(false)
    expect(answers[1]).toBeGreaterThanOrEqual(beforeMs + 60_000)
    expect(answers[1]).toBeLessThanOrEqual((await serverNowMs()) + 60_000)
  }
})

describe.each(['transaction', 'function'] as const)('a calendar, mode %s', (mode) => {
  const table = freshTable()
  const skewed = {
    ask: (process: number, rules: readonly RuleSpec[], ...calls: MethodCall[]) =>
      processes.it[process].ask({ rules, table, mode, calls }),
    serverNowMs,
  }
  test('has the same windows for processes whose clocks are an hour wrong', () => expectSharedWindows(skewed))
  // In transactions the definition runs with the server's time, and asks no other clock.
  test.skipIf(mode === 'transaction')('refuses a process whose clock is days away', () => expectRefusal(skewed))
})

test('the clock is read after the locks: a call that waited for one is decided at the time when it got it', async () => {
  const table = freshTable()
  const limiter = patientLimiter(fixedWindow({ limit: 1, window: 300 }), postgresStore(pool.it.client, { table }))
  await limiter.hit('ada')
  const holder = await openPool(server.it.url, { max: 1 })
  await holder.run(`BEGIN;SELECT 1 FROM ${table} FOR UPDATE`)
  const hit = limiter.hit('ada')
  await pause(400)
  const freedMs = await serverNowMs()
  await holder.run('ROLLBACK')
  expect((await hit).allowed, 'the window ended while the hit waited').toBe(true)
  expect(await limiter.expiresAt('ada')).toBeGreaterThanOrEqual(freedMs + 300)
  await holder.close()
})

test('a call that waited for a lock sees what the other has written', async () => {
  const table = freshTable()
  const limiter = patientLimiter(fixedWindow({ limit: 2, window: '1h' }), postgresStore(pool.it.client, { table }))
  await limiter.hit('ada')
  const other = await openPool(server.it.url, { max: 1 })
  // The second cell is the number of units used.
  await other.run(`BEGIN;UPDATE ${table} SET value = ARRAY[value[1], 2]`)
  const hit = limiter.hit('ada')
  await pause(100)
  await other.run('COMMIT')
  expect((await hit).allowed).toBe(false)
  await other.close()
})
