// The functions in Postgres: made on demand by many at once, found by roles that may not make them, and replaced by nothing.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import {
  CLIENTS,
  clientFor,
  freshTable,
  openPglite,
  openPool,
  patientLimiter,
  realPostgres,
} from '../../../test/postgres/real-postgres.ts'
import { createLimiter, fixedWindow, type Limiter, type Rule, slidingLog, slidingWindow, tokenBucket } from '../../index.ts'
import { definitionStore, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { walk } from '../../testing/walk.ts'
import { postgresFunctions } from './postgres-functions.ts'
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'
import { HELD_FUNCTIONS, RULE_FUNCTIONS } from './program/program.ts'

const server = realPostgres()
const connected = clientFor(() => openPool(server.it.url))
const RULE = fixedWindow({ limit: 100, window: '1h' })

async function functionNames(): Promise<string[]> {
  const rows = await server.it.query(`SELECT proname FROM pg_proc WHERE proname LIKE 'sluice%' ORDER BY 1`)
  return rows.map(({ proname }) => proname)
}

/** Makes a role that may use the public schema, and returns a pool of it. */
async function poolOf(role: string, rights: string) {
  await server.it.query(`CREATE ROLE ${role} LOGIN; ${rights}`)
  const pool = new pg.Pool({ host: '127.0.0.1', port: server.it.port, user: role, database: 'postgres', max: 2 })
  return { pool, [Symbol.asyncDispose]: () => pool.end() }
}

test('forty stores that start at once make them once', async () => {
  const table = freshTable()
  const before = (await functionNames()).length
  const limiters = Array.from({ length: 40 }, () =>
    patientLimiter(RULE, postgresStore(connected.it.client, { table, mode: 'function' })),
  )
  const decisions = await Promise.all(limiters.map((limiter) => limiter.hit('ada')))
  expect(decisions.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(Array.from({ length: 40 }, (_, i) => 99 - i))
  expect((await functionNames()).length).toBe(before + Object.keys(RULE_FUNCTIONS).length + HELD_FUNCTIONS.length + 2)
})

describe.each(Object.entries(CLIENTS))('with %s', (_, open) => {
  const client = clientFor(() => open(server.it.url))
  test('answers as the definition does', () => compared(client.it.client))
})

describe('with PGlite', () => {
  const client = clientFor(openPglite)
  test('answers as the definition does', () => compared(client.it.client))
})

async function compared(client: Parameters<typeof postgresStore>[0]): Promise<void> {
  const clock = fakeClock()
  const rules: Rule[] = [RULE, fixedWindow({ limit: 3, window: 700, name: 'short', anchor: 'clock' })]
  const tested = patientLimiter(
    rules,
    postgresStore(client, { clock, table: freshTable(), mode: 'function' }),
  ) as unknown as Limiter
  const defined = createLimiter({ rules, store: definitionStore(clock) })
  await walk({ tested, defined, clock, random: seededRandom(), steps: 100 })
}

describe('a role that may not make functions', () => {
  const limiterOf = (pool: pg.Pool, options: PostgresStoreOptions) => patientLimiter(RULE, postgresStore(pool, options))

  test('uses transactions in mode auto, and asks only once', async () => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    await using role = await poolOf(`weak_${table}`, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO weak_${table}`)
    const limiter = limiterOf(role.pool, { table })
    const before = await functionNames()
    expect(await Promise.all(['ada', 'ada'].map((key) => limiter.hit(key)))).toMatchObject([{ remaining: 99 }, { remaining: 98 }])
    expect(await limiter.hit('ada')).toMatchObject({ remaining: 97, source: 'store' })
    expect(await functionNames()).toEqual(before)
    expect(await limiterOf(connected.it.client as pg.Pool, { table, mode: 'function' }).hit('ada')).toMatchObject({
      remaining: 96,
    })
  })

  test('fails in mode function, with the reason', async () => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    await using role = await poolOf(`weak_${table}`, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO weak_${table}`)
    const limiter = createLimiter({
      rules: RULE,
      store: postgresStore(role.pool, { table, mode: 'function' }),
      failure: { then: 'throw' },
    })
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringMatching('postgresFunctions'),
    })
  })

  test('uses those that the owner made by the SQL', async () => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    await server.it.query(postgresFunctions({ table: `public.${table}` }))
    await server.it.query(postgresFunctions({ table: `public.${table}` }))
    await using role = await poolOf(`weak_${table}`, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO weak_${table}`)
    expect(await limiterOf(role.pool, { table, mode: 'function' }).hit('ada')).toMatchObject({ remaining: 99, source: 'store' })
  })

  test('runs in transactions where it may not execute those of the owner', async () => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    const before = await functionNames()
    await server.it.query(postgresFunctions({ table: `public.${table}` }))
    const made = (await functionNames()).filter((name) => !before.includes(name))
    await server.it.query(made.map((name) => `REVOKE EXECUTE ON FUNCTION ${name} FROM PUBLIC`).join(';'))
    await using role = await poolOf(`weak_${table}`, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO weak_${table}`)
    const limiter = limiterOf(role.pool, { table })
    await limiter.set('ada', 100)
    expect(await limiter.hit('ada')).toMatchObject({ allowed: false, source: 'store' })
  })

  test('makes none if it may not make the table', async () => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    const before = await functionNames()
    const limiter = limiterOf(connected.it.client as pg.Pool, { table, createTable: false })
    expect(await limiter.hit('ada')).toMatchObject({ remaining: 99, source: 'store' })
    expect(await functionNames()).toEqual(before)
  })
})

test('a server that is read-only for now is no reason to give functions up', async () => {
  const table = freshTable()
  const pool = new pg.Pool({ connectionString: server.it.url, options: '-c default_transaction_read_only=on', max: 1 })
  const limiter = createLimiter({ rules: RULE, store: postgresStore(pool, { table }), failure: { then: 'throw' } })
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_STORE_/) })
  await pool.end()
})

test('functions and a table that were dropped are made anew', async () => {
  const table = freshTable()
  const limiter = patientLimiter(RULE, postgresStore(connected.it.client, { table, mode: 'function' }))
  const before = await functionNames()
  await limiter.hit('ada')
  const [calls] = (await functionNames()).filter((name) => !before.includes(name) && name.startsWith('sluice_calls'))
  await server.it.query(`DROP FUNCTION ${calls}`)
  await expect(limiter.hit('ada')).resolves.toMatchObject({ remaining: 98 })
  await server.it.query(`DROP TABLE ${table}`)
  await expect(limiter.hit('ada')).resolves.toMatchObject({ remaining: 99 })
})

describe('one that was dropped alone', () => {
  const every: Rule[] = [
    RULE,
    slidingLog({ limit: 100, window: '1h', name: 'log' }),
    slidingWindow({ limit: 100, window: '1h', name: 'sliding' }),
    tokenBucket({ capacity: 100, refill: 1, every: '1h', name: 'bucket' }),
  ]

  /** Makes a table and its functions. Returns the full names of the functions by their short names. */
  async function made(
    store: PostgresStore,
  ): Promise<{ readonly all: Limiter<'async'>; readonly names: ReadonlyMap<string, string> }> {
    const before = await functionNames()
    const all = patientLimiter(every, store)
    await all.hit('ada')
    const fresh = (await functionNames()).filter((name) => !before.includes(name))
    return { all, names: new Map(fresh.map((name) => [name.replace(/^sluice_(\w+)_\w+$/, '$1'), name])) }
  }

  test.each(['fixed_window', 'sliding_log', 'sliding_window', 'meter', 'single', 'calls'])(
    'is made again, and the call that missed it counts once: %s',
    async (dropped) => {
      const store = postgresStore(connected.it.client, { table: freshTable(), mode: 'function' })
      const { all, names } = await made(store)
      const one = patientLimiter(RULE, store)
      const drop = () => server.it.query(`DROP FUNCTION IF EXISTS ${names.get(dropped)}`)
      await drop()
      await all.hit('ada')
      for (const { name } of every) expect(await all.get('ada', { rule: name }), name).toBe(2)
      await drop()
      expect([await one.inc('bob'), await one.inc('bob')]).toEqual([1, 2])
      await drop()
      // Hits of many keys find out at once.
      const hits = await Promise.all(Array.from({ length: 60 }, (_, i) => all.hit(`user:${i % 30}`)))
      expect(hits.filter(({ source }) => source === 'store')).toHaveLength(60)
      for (let i = 0; i < 30; i++) expect(await all.get(`user:${i}`, { rule: 'bucket' })).toBe(2)
      await one.inc('bob')
      expect(await functionNames()).toEqual(expect.arrayContaining([...names.values()]))
    },
  )

  test('and is the type that they use: a session with a cached plan fails once, and then all goes on', async () => {
    const store = postgresStore(connected.it.client, { table: freshTable(), mode: 'function' })
    const { all, names } = await made(store)
    const type = names.get('calls')?.replace('_calls_', '_state_')
    // The functions for holds have it in their signatures, and go with it.
    await server.it.query(`DROP TYPE ${type} CASCADE`)
    const failed = await all.hit('ada').then(
      () => 0,
      () => 1,
    )
    await all.hit('ada')
    expect(await all.get('ada')).toBe(3 - failed)
  })

  test.each(['function', 'auto'] as const)('and may not be made by the role: the call says so, in mode %s', async (mode) => {
    const table = freshTable()
    await server.it.query(postgresSchema({ table }))
    const { names } = await made(postgresStore(connected.it.client, { table, mode: 'function' }))
    await using role = await poolOf(`weak_${table}`, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO weak_${table}`)
    const store = postgresStore(role.pool, { table, mode })
    const limiter = createLimiter({ rules: RULE, store, failure: { then: 'throw', timeoutMs: 10_000 } })
    expect(await limiter.inc('ada')).toBe(2)
    await server.it.query(`DROP FUNCTION ${names.get('fixed_window')}`)
    const message = expect.stringContaining('run the SQL of postgresFunctions()')
    await expect(limiter.inc('ada')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', message })
    const next = limiter.inc('ada')
    if (mode === 'auto') await expect(next).resolves.toBe(3)
    else await expect(next).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', message })
  })
})

test('a table that was dropped, and is found in another schema from then on', async () => {
  const table = freshTable()
  await server.it.query(`CREATE SCHEMA first_${table}; CREATE SCHEMA second_${table}`)
  await server.it.query(postgresSchema({ table: `second_${table}.${table}` }))
  const options = `-c search_path=first_${table},second_${table}`
  const makes = new pg.Pool({ connectionString: server.it.url, options: `-c search_path=first_${table}` })
  await patientLimiter(RULE, postgresStore(makes, { table })).hit('ada')
  await makes.end()
  const pool = new pg.Pool({ connectionString: server.it.url, options })
  const limiter = patientLimiter(RULE, postgresStore(pool, { table, mode: 'function' }))
  await expect(limiter.hit('ada')).resolves.toMatchObject({ remaining: 98 })
  await server.it.query(`DROP TABLE first_${table}.${table}`)
  await expect(limiter.hit('ada')).resolves.toMatchObject({ remaining: 99 })
  await pool.end()
})

test('the settings of a session do not change an answer', async () => {
  const clock = fakeClock()
  const settings = [
    'search_path=nowhere',
    'extra_float_digits=-15',
    'standard_conforming_strings=off',
    'enable_indexscan=off',
    'timezone=Asia/Tokyo',
    'datestyle=German',
  ]
  const pool = new pg.Pool({ connectionString: server.it.url, options: settings.map((each) => `-c ${each}`).join(' ') })
  const table = `public.${freshTable()}`
  const rules = [fixedWindow({ limit: 2 ** 53 - 4, window: '3650d' }), RULE]
  const tested = patientLimiter(rules, postgresStore(pool, { clock, table, mode: 'function' })) as unknown as Limiter
  const defined = createLimiter({ rules, store: definitionStore(clock) })
  await walk({ tested, defined, clock, random: seededRandom(), steps: 100, subjects: ["a'b", 'c\\d', 'e"f'] })
  await pool.end()
})

describe('a rule without a translation', () => {
  const toy: Rule = {
    ...RULE,
    algorithm: 'toy',
    name: 'toy',
    settle: (...args) => RULE.settle(...args),
    take: (...args) => RULE.take(...args),
    waitMs: (...args) => RULE.waitMs(...args),
    spend: (...args) => RULE.spend(...args),
    used: (...args) => RULE.used(...args),
    put: (...args) => RULE.put(...args),
    refund: (...args) => RULE.refund(...args),
  }

  test('runs in transactions in mode auto, beside rules that have one', async () => {
    const store = postgresStore(connected.it.client, { table: freshTable() })
    const both = patientLimiter([toy, RULE], store)
    const one = patientLimiter(RULE, store)
    expect(await both.hit('ada')).toMatchObject({ remaining: 99, source: 'store' })
    expect(await one.hit('ada')).toMatchObject({ remaining: 98, source: 'store' })
    expect(await both.hit('ada')).toMatchObject({ remaining: 97, source: 'store' })
    expect(await both.get('ada', { rule: 'toy' })).toBe(2)
  })

  test('is refused in mode function', () => {
    const store = postgresStore(connected.it.client, { table: freshTable(), mode: 'function' })
    expect(() => createLimiter({ rules: toy, store })).toThrow(/no function in Postgres for the algorithm "toy"/)
  })
})
