import { describe, expect, test, vi } from 'vitest'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { BackgroundSweep } from '../../engines/background-sweep.ts'
import { fakeClock } from '../../testing/index.ts'
import { postgresClient } from './postgres-client.ts'
import { postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'
import { BLOCKS, TableSweep } from './table-sweep.ts'

const server = realPostgres()
const pool = clientFor(() => openPool(server.it.url))
const HOUR_MS = 3_600_000

/** A table with ended rows and living ones, in turn. */
async function filledTable(rows: number): Promise<string> {
  const table = freshTable()
  await pool.it.run(`${postgresSchema({ table })};
    INSERT INTO ${table} SELECT 'k' || i, '{1}', CASE WHEN i % 2 = 0 THEN 1000 ELSE 8e12 END FROM generate_series(1, ${rows}) AS i`)
  return table
}

const countOf = async (table: string): Promise<number> =>
  (await server.it.query(`SELECT count(*)::int AS rows FROM ${table} WHERE ends_at = 1000`))[0].rows

function sweepOf(table: string) {
  const connections = postgresClient(pool.it.client)
  const query = vi.spyOn(connections, 'query')
  return { sweep: new TableSweep({ connections, table: async () => `"${table}"`, nowMs: undefined }), query }
}

describe('clean', () => {
  test('deletes every row that has ended, and no other', async () => {
    const table = await filledTable(20_000)
    const store = postgresStore(pool.it.client, { table })
    expect(await store.clean()).toBe(10_000)
    expect(await store.size).toBe(10_000)
    expect(await store.clean()).toBe(0)
  })

  test('follows the clock of the store', async () => {
    const clock = fakeClock()
    const store = postgresStore(pool.it.client, { table: freshTable(), clock })
    await patientLimiter(fixedWindow({ limit: 5, window: 1000 }), store).hit('ada')
    expect(await store.clean()).toBe(0)
    clock.advance(1000)
    expect(await store.clean()).toBe(1)
  })

  test('of an empty table', async () => {
    expect(await postgresStore(pool.it.client, { table: freshTable() }).clean()).toBe(0)
  })
})

describe('a step', () => {
  test('reads at most so many blocks, and comes round', async () => {
    const table = await filledTable(40_000)
    const [{ blocks }] = await server.it.query(`SELECT (pg_relation_size('${table}') / 8192)::int AS blocks`)
    expect(blocks).toBeGreaterThan(3 * BLOCKS)
    const { sweep } = sweepOf(table)
    const perStep = []
    for (let walked = 0; walked < blocks + BLOCKS; walked += BLOCKS) perStep.push(await sweep.few({ rows: 1e6, endedForMs: 0 }))
    const mostInAStep = BLOCKS * (40_000 / blocks)
    expect(Math.max(...perStep)).toBeLessThanOrEqual(mostInAStep)
    expect(perStep.reduce((sum, deleted) => sum + deleted)).toBe(20_000)
  })

  test('is planned as a scan of these blocks only', async () => {
    const table = await filledTable(40_000)
    const { sweep, query } = sweepOf(table)
    await sweep.few({ rows: 10, endedForMs: 0 })
    const text = query.mock.calls.at(-1)?.[0]
    const plan = (await server.it.query(`EXPLAIN ${text}`)).map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('Tid Range Scan')
    expect(plan).not.toContain('Seq Scan')
  })

  test('deletes at most so many rows, and stays where some are left', async () => {
    const table = await filledTable(4000)
    const { sweep } = sweepOf(table)
    const deleted = []
    while ((await countOf(table)) > 0) deleted.push(await sweep.few({ rows: 500, endedForMs: 0 }))
    expect(Math.max(...deleted)).toBe(500)
    // The first steps may begin in the middle of the table and end there.
    expect(deleted.length).toBeLessThanOrEqual(6)
  })

  test('spares rows that ended later', async () => {
    const table = await filledTable(100)
    const { sweep } = sweepOf(table)
    expect(await sweep.few({ rows: 100, endedForMs: Date.now() })).toBe(0)
  })

  test('skips rows that others hold, and waits for nobody', async () => {
    const table = await filledTable(60)
    const client = await openPool(server.it.url, { max: 1 })
    await client.run(`BEGIN;SELECT 1 FROM ${table} WHERE name IN ('k2', 'k4') FOR UPDATE`)
    expect(await sweepOf(table).sweep.few({ rows: 100, endedForMs: 0 })).toBe(28)
    await client.run('ROLLBACK')
    await client.close()
  })

  test('several at once share the work', async () => {
    const table = await filledTable(20_000)
    const counts = await Promise.all([1, 2, 3, 4].map(() => sweepOf(table).sweep.all({ rows: 1e6, endedForMs: 0 })))
    expect(counts.reduce((sum, deleted) => sum + deleted)).toBe(10_000)
    expect(await countOf(table)).toBe(0)
  })
})

describe('in the background', () => {
  test('a sweep follows a write, spares the last hour, and stops with the store', async () => {
    const table = await filledTable(60)
    await pool.it.run(
      `INSERT INTO ${table} SELECT 'late', '{1}', (extract(epoch FROM now()) * 1000)::bigint - ${HOUR_MS - 60_000}`,
    )
    const store = postgresStore(pool.it.client, { table, sweepEveryMs: 20 })
    const limiter = patientLimiter(fixedWindow({ limit: 5, window: '1h' }), store)
    await limiter.hit('ada')
    await expect.poll(() => countOf(table)).toBe(0)
    expect(await store.size).toBe(32)
    await store.close()
  })

  test('not with sweepEveryMs: 0', async () => {
    const table = await filledTable(100)
    const store = postgresStore(pool.it.client, { table, sweepEveryMs: 0 })
    const limiter = patientLimiter(fixedWindow({ limit: 1e6, window: '1h' }), store)
    // The engine sweeps after a thousand written rows.
    for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 250 }, (_, key) => limiter.hit(`${key}`)))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await countOf(table)).toBe(50)
  })

  test('one timer at a time, which errors do not end, and none after stop', async () => {
    vi.useFakeTimers()
    try {
      const sweep = vi.fn(async () => Promise.reject(new Error('gone')))
      const background = new BackgroundSweep(1000, sweep)
      for (let i = 0; i < 5; i++) background.wrote()
      expect(vi.getTimerCount()).toBe(1)
      await vi.advanceTimersByTimeAsync(1000)
      expect(sweep).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(5000)
      expect(sweep, 'nothing was written').toHaveBeenCalledTimes(1)
      background.wrote()
      await vi.advanceTimersByTimeAsync(1000)
      expect(sweep).toHaveBeenCalledTimes(2)
      background.wrote()
      background.stop()
      background.wrote()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
