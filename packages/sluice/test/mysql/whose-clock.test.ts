// Real time: the server's clock decides, also if the clocks of the processes are wrong. It is read after the locks are held.

import { createConnection, createPool, type Pool } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { parseRule } from '../../src/index.ts'
import { mysqlStore } from '../../src/stores/mysql/mysql-store.ts'
import { CLOCK } from '../../src/stores/mysql/mysql-table.ts'
import type { MethodCall } from '../processes/asked-process.ts'
import { expectSharedWindows, HOUR_MS } from '../processes/skewed-calendars.ts'
import { beforeTests } from '../redis/real-redis.ts'
import { asOfMysql, poolWith } from './clients.ts'
import { limiterProcesses } from './limiter-processes.ts'
import { freshTable, patientLimiter, realMariadbIn } from './real-mariadb.ts'

/** A zone with daylight saving. */
const server = realMariadbIn('CET-1CEST,M3.5.0,M10.5.0/3')
const pool = beforeTests(
  async (): Promise<Pool> => createPool(server.it.address),
  (it) => it.end(),
)
const processes = limiterProcesses(() => server.it.address, [-HOUR_MS, 0, HOUR_MS])

async function serverNowMs(): Promise<number> {
  const [{ ms }] = await server.it.admin('SELECT FLOOR(@@timestamp * 1000) AS ms')
  return Number(ms)
}

describe.concurrent('processes whose clocks are an hour slow, right and an hour fast see the same state of', () => {
  test.each<RuleSpec>([
    { algorithm: 'fixed-window', limit: 6, window: 2000 },
    { algorithm: 'sliding-log', limit: 6, window: 2000 },
    { algorithm: 'token-bucket', capacity: 6, refill: 6, every: 2000 },
  ])('$algorithm', async (rule) => {
    const table = freshTable()
    const ask = async (process: number, ...calls: [string, ...unknown[]][]) =>
      (await processes.it[process].ask({ rules: [rule], table, turns: [calls] })).answers
    await ask(1, ['peek', 'ada'])
    const spent = []
    for (const process of [0, 1, 2]) spent.push(...(await ask(process, ['hit', 'ada'], ['hit', 'ada'])))
    expect(spent.map(({ allowed }) => allowed)).toEqual(Array(6).fill(true))
    for (const process of [0, 1, 2]) {
      const beforeMs = await serverNowMs()
      const [denied, endsMs] = await ask(process, ['hit', 'ada', { cost: 6 }], ['expiresAt', 'ada'])
      const afterMs = await serverNowMs()
      expect(denied.allowed).toBe(false)
      expect(endsMs - denied.resetAfterMs).toBeGreaterThanOrEqual(beforeMs)
      expect(endsMs - denied.resetAfterMs).toBeLessThanOrEqual(afterMs)
    }
    const [{ retryAfterMs }] = await ask(0, ['peek', 'ada', { cost: 6 }])
    const inTimeMs = (await serverNowMs()) + retryAfterMs
    await until('the time to come', async () => (await serverNowMs()) >= inTimeMs)
    expect(await ask(2, ['hit', 'ada', { cost: 6 }])).toMatchObject([{ allowed: true, remaining: 0 }])
  })
})

test('a calendar has the same windows for processes whose clocks are an hour wrong', () => {
  const table = freshTable()
  const ask = (process: number, rules: readonly RuleSpec[], ...calls: MethodCall[]) =>
    processes.it[process].ask({ rules, table, turns: [calls] })
  return expectSharedWindows({ ask, serverNowMs })
})

test('the hour that comes twice in a year is two hours', async () => {
  // The last Sunday of October 2025, at half past two in summer and in winter.
  const [summer, winter] = ['00:30', '01:30'].map((time) => Date.parse(`2025-10-26T${time}:00Z`) / 1000)
  for (const seconds of [summer, winter]) {
    const rows = await server.it.admin(`SET timestamp = ${seconds}`, `SELECT HOUR(NOW()) AS hour, ms FROM (${CLOCK}) AS clock`)
    expect(rows).toEqual([{ hour: 2, ms: seconds * 1000 }])
  }
})

describe.each([
  ['one round trip', (it: Pool) => it],
  ['statement by statement', asOfMysql],
])('%s', (_, wrap) => {
  test('the clock is read after the locks are held', async () => {
    const table = freshTable()
    const limiter = patientLimiter(parseRule('5/minute'), mysqlStore(wrap(pool.it), { table }))
    await limiter.hit('ada')
    const other = await createConnection(server.it.address)
    try {
      await other.beginTransaction()
      await other.query(`SELECT * FROM ${table} FOR UPDATE`)
      const asked = limiter.set('ada', 1)
      await until('the store to wait for the lock', async () => (await server.it.lockWaits()) > 0)
      // The row ends a minute after the time that the store reads.
      await new Promise((resolve) => setTimeout(resolve, 300))
      const unlockedMs = await serverNowMs()
      await other.query(`UPDATE ${table} SET ends_at = 0, value = X'0100000000000000000000000000000000'`)
      await other.query(`DELETE FROM ${table}`)
      await other.commit()
      await asked
      expect(await limiter.expiresAt('ada')).toBeGreaterThanOrEqual(unlockedMs + 60_000)
    } finally {
      other.destroy()
    }
  })

  test.each(["SET time_zone = '+13:00'", "SET time_zone = '-12:00'"])('%s changes nothing', async (zone) => {
    const zoned = poolWith(server.it.address, zone)
    try {
      const limiter = patientLimiter(parseRule('5/minute'), mysqlStore(wrap(zoned), { table: freshTable() }))
      const beforeMs = await serverNowMs()
      await limiter.hit('ada')
      const endsMs = await limiter.expiresAt('ada')
      expect(endsMs - 60_000).toBeGreaterThanOrEqual(beforeMs)
      expect(endsMs - 60_000).toBeLessThanOrEqual(await serverNowMs())
    } finally {
      await zoned.end()
    }
  })

  test('a session whose clock stands still is refused, because no limit would ever end', async () => {
    const frozen = poolWith(server.it.address, 'SET timestamp = UNIX_TIMESTAMP() - 100')
    try {
      const store = mysqlStore(wrap(frozen), { table: freshTable() })
      const tally = store.tally([parseRule('5/minute')])
      const asked = tally.ask({ operation: 'hit', charges: [{ rule: 0, key: 'ada', amount: 1 }] })
      await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED', message: expect.stringContaining('timestamp') })
    } finally {
      await frozen.end()
    }
  })
})
