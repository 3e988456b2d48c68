// Faults in the middle of a transaction. Nothing is decided twice, every call settles by its deadline, and the store is in use again.

import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { startPostgres } from '../../../../test/servers/postgres-server.mjs'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { createLimiter, type FailureOptions, fixedWindow, type Limiter, SluiceError } from '../../src/index.ts'
import type { PostgresClient } from '../../src/stores/postgres/postgres-client.ts'
import { type PostgresMode, type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/postgres-store.ts'
import { beforeTests } from '../redis/real-redis.ts'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from './real-postgres.ts'

const server = realPostgres()
const proxy = beforeTests(
  () => startProxy(server.it.port),
  (started) => started.stop(),
)
/** A pool that the faults do not affect. */
const observer = clientFor(() => openPool(server.it.url))
const rule = fixedWindow({ limit: 1000, window: '1h', name: 'r' })

const urlOf = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`

interface Opened {
  readonly client: PostgresClient
  close(): Promise<unknown>
}

const POOLS: Readonly<Record<string, (url: string) => Opened>> = {
  'a pool of pg': (connectionString) => {
    const client = new pg.Pool({ connectionString })
    return { client, close: () => client.end() }
  },
  'postgres.js': (url) => {
    const client = postgres(url, { backoff: () => 0.02, fetch_types: false, onnotice: () => {} })
    return { client, close: () => client.end({ timeout: 0 }) }
  },
}

function limiterOn(client: PostgresClient, table: string, failure: FailureOptions = {}, options: PostgresStoreOptions = {}) {
  return createLimiter({ rules: rule, store: postgresStore(client, { table, mode: 'transaction', ...options }), failure })
}

function limiterIn(mode: PostgresMode, client: PostgresClient, table: string, failure: FailureOptions = {}) {
  return limiterOn(client, table, failure, { mode })
}

async function counted(table: string, key = 'ada'): Promise<number> {
  return patientLimiter(rule, postgresStore(observer.it.client, { table, mode: 'transaction' })).get(key)
}

/** Calls until the store answers again. */
async function recovered<V>(call: () => Promise<V>, withinMs = 3000): Promise<V> {
  const endMs = performance.now() + withinMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > endMs) throw error
      await pause(20)
    }
  }
}

interface Counts {
  allowed: number
  /** Hits that may have counted. */
  inDoubt: number
  refused: number
  worstMs: number
}

/** Hits all the time until `isOver`. */
async function traffic(limiter: Limiter<'async'>, isOver: () => boolean): Promise<Counts> {
  const counts = { allowed: 0, inDoubt: 0, refused: 0, worstMs: 0 }
  const hitAgain = async (): Promise<void> => {
    while (!isOver()) {
      const startMs = performance.now()
      try {
        await limiter.hit('ada')
        counts.allowed += 1
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error
        if (error.code === 'ERR_STORE_UNKNOWN') counts.inDoubt += 1
        else if (error.code === 'ERR_STORE_REFUSED') counts.refused += 1
        else throw error
      }
      counts.worstMs = Math.max(counts.worstMs, performance.now() - startMs)
      await pause(5)
    }
  }
  await Promise.all([1, 2, 3, 4].map(hitAgain))
  return counts
}

describe.each(['transaction', 'function'] as const)('mode %s:', (mode) => {
  describe.each(Object.entries(POOLS))('%s', (_, open) => {
    test('connections that are terminated all the time', async () => {
      const table = freshTable()
      const opened = open(server.it.url)
      const limiter = limiterIn(mode, opened.client, table, { timeoutMs: 1000, failures: 1e6 })
      await limiter.hit('ada')
      let isOver = false
      const running = traffic(limiter, () => isOver)
      for (let i = 0; i < 15; i++) {
        await pause(30)
        await server.it.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = $$client backend$$ AND pid <> pg_backend_pid() AND query LIKE $$%test_%$$',
        )
      }
      isOver = true
      const { allowed, inDoubt, worstMs } = await running
      expect(allowed).toBeGreaterThan(20)
      expect(worstMs).toBeLessThan(1300)
      const total = await counted(table)
      expect(total).toBeGreaterThanOrEqual(allowed + 1)
      expect(total).toBeLessThanOrEqual(allowed + 1 + inDoubt)
      await recovered(() => limiter.hit('ada'))
      await opened.close()
    })

    test('every answer is cut after each of its bytes in turn: a call counts at most once, and is not told otherwise', async () => {
      const table = freshTable()
      await limiterIn(mode, observer.it.client, table).hit('warm')
      const outcomes = new Set<string>()
      for (let bytes = 0; bytes < 400; bytes += 13) {
        const key = `key ${bytes}`
        const opened = open(urlOf(proxy.it.port))
        const limiter = limiterIn(mode, opened.client, table, { timeoutMs: 2000, failures: 1e6 })
        await limiter.hit(key)
        proxy.it.conditions = { cutDownAfter: bytes, cutOnce: true }
        const outcome = await limiter.hit(key).then(
          ({ remaining }) => remaining,
          (error: SluiceError) => error.code,
        )
        proxy.it.conditions = {}
        const used = await counted(table, key)
        outcomes.add(`${outcome}, counted ${used}`)
        await opened.close()
      }
      // A hit whose first answer was cut is tried again, and a hit whose second answer was cut is in doubt.
      for (const outcome of outcomes) {
        expect(['998, counted 2', 'ERR_STORE_UNKNOWN, counted 2', 'ERR_STORE_UNKNOWN, counted 1']).toContain(outcome)
      }
      expect([...outcomes]).toEqual(expect.arrayContaining(['998, counted 2', 'ERR_STORE_UNKNOWN, counted 2']))
    })

    // A function is committed before its answer is lost.
    test.runIf(mode === 'transaction')(
      'answers that are lost: calls end at their deadline, the policy answers, and the locks are freed',
      async () => {
        const table = freshTable()
        const opened = open(urlOf(proxy.it.port))
        const limiter = limiterIn(mode, opened.client, table, { timeoutMs: 150, then: 'allow', failures: 3 })
        await limiter.hit('ada')
        proxy.it.conditions = { loseDown: true }
        const startMs = performance.now()
        const decisions = await Promise.all(Array.from({ length: 10 }, () => limiter.hit('ada')))
        expect(performance.now() - startMs).toBeLessThan(400)
        for (const decision of decisions) expect(decision).toMatchObject({ allowed: true, source: 'fallback' })
        proxy.it.conditions = {}
        proxy.it.reset()
        await recovered(async () => {
          const { source } = await limiter.hit('ada')
          if (source !== 'store') throw new Error('not yet')
        })
        // Nothing was written: the second round trip was never sent.
        expect(await counted(table)).toBe(2)
        await opened.close()
      },
    )

    test('a server that is not there, and then is', async () => {
      const other = await startPostgres()
      await other.crash()
      const opened = open(other.url)
      const limiter = limiterIn(mode, opened.client, 'late', { timeoutMs: 200 })
      await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
      await other.start()
      expect((await recovered(() => limiter.hit('ada'))).remaining).toBe(999)
      await opened.close()
      await other.stop()
    })

    test('a server that freezes, and goes on', async () => {
      const other = await startPostgres()
      const opened = open(other.url)
      const limiter = limiterIn(mode, opened.client, 'frozen', { timeoutMs: 200, failures: 1e6 })
      await Promise.all(Array.from({ length: 8 }, (_, i) => limiter.hit(`warm ${i}`)))
      let isOver = false
      const running = traffic(limiter, () => isOver)
      await pause(100)
      other.signal('SIGSTOP')
      await pause(700)
      other.signal('SIGCONT')
      await pause(300)
      isOver = true
      const { allowed, inDoubt, refused, worstMs } = await running
      expect(worstMs).toBeLessThan(450)
      expect(inDoubt + refused).toBeGreaterThan(0)
      const total = await recovered(() => limiter.get('ada'))
      expect(total).toBeGreaterThanOrEqual(allowed)
      expect(total).toBeLessThanOrEqual(allowed + inDoubt)
      await opened.close()
      await other.stop()
    })
  })
})

describe('a crash of the server', () => {
  /** Makes hits, stops the server as a crash does, and starts it again. Returns the units that it still knows. */
  async function unitsAfterCrash(options: PostgresStoreOptions): Promise<number> {
    // Writes of the background process would save what a commit did not wait for.
    const other = await startPostgres({ wal_writer_delay: '10s', checkpoint_timeout: '1h', bgwriter_delay: '10s' })
    const client = new pg.Pool({ connectionString: other.url })
    const limiter = limiterOn(client, 'states', { timeoutMs: 5000 }, options)
    await other.query('SELECT 1')
    await limiter.hit('before')
    await other.query('CHECKPOINT')
    for (let i = 0; i < 20; i++) await limiter.hit('ada')
    await other.crash()
    await other.start()
    try {
      return await recovered(() => limiter.get('ada'))
    } finally {
      await client.end()
      await other.stop()
    }
  }

  test('loses nothing that was answered with durable: true', async () => {
    expect(await unitsAfterCrash({ durable: true })).toBe(20)
  })

  test('loses the last moments by default', async () => {
    expect(await unitsAfterCrash({})).toBeLessThan(20)
  })

  test('loses everything with unlogged: true', async () => {
    expect(await unitsAfterCrash({ unlogged: true, durable: true })).toBe(0)
  })
})

describe('too few connections', () => {
  test('a pool that others have used up: calls end at their deadline, and count nothing later', async () => {
    const table = freshTable()
    const client = new pg.Pool({ connectionString: server.it.url, max: 1 })
    const limiter = limiterOn(client, table, { timeoutMs: 150 })
    await limiter.hit('ada')
    const taken = await client.connect()
    const startMs = performance.now()
    await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(performance.now() - startMs).toBeLessThan(400)
    taken.release()
    await pause(50)
    expect(await counted(table)).toBe(1)
    expect((await limiter.hit('ada')).remaining).toBe(998)
    await client.end()
  })

  test('a server without a free connection refuses', async () => {
    const other = await startPostgres({ max_connections: '6', superuser_reserved_connections: '0', max_wal_senders: '0' })
    const clients = Array.from({ length: 6 }, () => new pg.Client({ connectionString: other.url }))
    for (const client of clients) client.on('error', () => {})
    await Promise.all(clients.map((client) => client.connect()))
    const pool = new pg.Pool({ connectionString: other.url })
    const limiter = limiterOn(pool, 'states', { timeoutMs: 200 })
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_REFUSED',
      message: expect.stringContaining('too many clients'),
    })
    await clients[0].end()
    expect((await recovered(() => limiter.hit('ada'))).allowed).toBe(true)
    await pool.end()
    await Promise.all(clients.slice(1).map((client) => client.end()))
    await other.stop()
  })
})

test('a lock that somebody else keeps: the call is refused after two seconds, and the connection stays in use', async () => {
  const table = freshTable()
  const client = new pg.Pool({ connectionString: server.it.url, max: 1 })
  const limiter = limiterOn(client, table, { timeoutMs: 10_000 })
  await limiter.hit('ada')
  const pidOf = async () => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
  const pid = await pidOf()
  const holder = await openPool(server.it.url, { max: 1 })
  await holder.run(`BEGIN;SELECT 1 FROM ${table} FOR UPDATE`)
  const hit = limiter.hit('ada')
  await pause(2300)
  await holder.run('ROLLBACK')
  expect((await hit).remaining, 'tried again').toBe(998)
  expect(await pidOf()).toBe(pid)
  await holder.close()
  await client.end()
})

test('a lone client that others use at once keeps its transactions apart, also for several stores', async () => {
  const table = freshTable()
  const client = new pg.Client({ connectionString: server.it.url })
  await client.connect()
  const limiters = [1, 2, 3].map(() => limiterOn(client, table, { timeoutMs: 10_000 }))
  const decisions = await Promise.all(Array.from({ length: 60 }, (_, i) => limiters[i % 3].hit(`k${i % 5}`)))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(60)
  expect(await counted(table, 'k0')).toBe(12)
  await client.end()
  const impatient = limiterOn(client, table, { timeoutMs: 100 })
  await expect(impatient.hit('k0')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
})
