import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import type { PostgresClient } from './postgres-client.ts'
import { type PostgresStoreOptions, postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

const server = realPostgres()
const pool = clientFor(() => openPool(server.it.url))

function limiterOn(options: PostgresStoreOptions, client: PostgresClient = pool.it.client) {
  return patientLimiter(parseRule('5/hour'), postgresStore(client, { mode: 'transaction', ...options }))
}

/** Hits on a connection of its own, as a role with few rights, or with settings of its own. */
async function hitAs(config: pg.PoolConfig, options: PostgresStoreOptions) {
  const client = new pg.Pool({ host: '127.0.0.1', port: server.it.port, user: 'postgres', database: 'postgres', ...config })
  try {
    return await limiterOn(options, client).hit('ada')
  } finally {
    await client.end()
  }
}

describe('the table is made on demand', () => {
  test('once, by many clients that start at the same moment', async () => {
    const table = freshTable()
    const pools = Array.from({ length: 20 }, () => new pg.Pool({ connectionString: server.it.url, max: 1 }))
    await Promise.all(pools.map((each) => each.query('SELECT 1')))
    const decisions = await Promise.all(pools.map((each) => limiterOn({ table }, each).hit('ada')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
    await Promise.all(pools.map((each) => each.end()))
  })

  test('and made anew if somebody drops it', async () => {
    const table = freshTable()
    const limiter = limiterOn({ table })
    await limiter.hit('ada')
    await pool.it.run(`DROP TABLE ${table}`)
    expect((await limiter.hit('ada')).remaining).toBe(4)
  })

  test('after a failure the next call tries again', async () => {
    const table = freshTable()
    await pool.it.run(`CREATE TABLE ${table} (name text PRIMARY KEY)`)
    const limiter = limiterOn({ table })
    await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
    await pool.it.run(`DROP TABLE ${table}`)
    expect((await limiter.hit('ada')).allowed).toBe(true)
  })

  test('not if createTable is false: the SQL of postgresSchema makes it', async () => {
    const table = freshTable()
    await expect(limiterOn({ table, createTable: false }).hit('ada')).rejects.toThrow(/postgresSchema/)
    for (let i = 0; i < 2; i++) await pool.it.run(postgresSchema({ table }))
    expect((await limiterOn({ table, createTable: false }).hit('ada')).allowed).toBe(true)
  })
})

describe('a table that does not fit is refused', () => {
  test('one of another version', async () => {
    const table = freshTable()
    await pool.it.run(postgresSchema({ table }))
    await pool.it.run(`ALTER TABLE ${table} RENAME CONSTRAINT ${table}_v1 TO ${table}_v7`)
    await expect(limiterOn({ table }).hit('ada')).rejects.toThrow(/version 7.*version 1/)
    await pool.it.run(postgresSchema({ table }))
    await expect(limiterOn({ table }).hit('ada'), 'the SQL does not change the version').rejects.toThrow(/version 7/)
  })

  test('one that somebody else made', async () => {
    const table = freshTable()
    await pool.it.run(`CREATE TABLE ${table} (name text)`)
    await expect(limiterOn({ table }).hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringContaining('was not made by sluice'),
    })
  })

  test('one that is logged, or not, against the option', async () => {
    const table = freshTable()
    await limiterOn({ table, unlogged: true }).hit('ada')
    const [{ relpersistence }] = await server.it.query(`SELECT relpersistence FROM pg_class WHERE relname = '${table}'`)
    expect(relpersistence).toBe('u')
    await expect(limiterOn({ table, unlogged: false }).hit('ada')).rejects.toThrow(/unlogged/)
    expect((await limiterOn({ table }).hit('ada')).remaining, 'without the option any table fits').toBe(3)
  })
})

describe('rights', () => {
  test('a role that may only read and write rows needs no more', async () => {
    const table = freshTable()
    await pool.it.run(`${postgresSchema({ table })};CREATE ROLE writer LOGIN;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO writer`)
    expect((await hitAs({ user: 'writer' }, { table })).remaining).toBe(4)
  })

  test('a role that may not make the table is told what to run', async () => {
    await pool.it.run('CREATE ROLE guest LOGIN')
    await expect(hitAs({ user: 'guest' }, { table: freshTable() })).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringContaining('postgresSchema'),
    })
  })

  test('a role that may not write the table is refused for ever', async () => {
    const table = freshTable()
    await pool.it.run(`${postgresSchema({ table })};CREATE ROLE reader LOGIN;GRANT SELECT ON ${table} TO reader`)
    await expect(hitAs({ user: 'reader' }, { table })).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringContaining('permission denied'),
    })
  })
})

describe('schemas', () => {
  test('a table in a schema of its own, whose names need quotes', async () => {
    await pool.it.run('CREATE SCHEMA "Odd"')
    expect((await limiterOn({ table: 'Odd.States' }).hit('ada')).remaining).toBe(4)
    expect(await server.it.query('SELECT count(*)::int AS rows FROM "Odd"."States"')).toEqual([{ rows: 1 }])
  })

  test('the schema of the first call stays, on every connection', async () => {
    const table = freshTable()
    await pool.it.run('CREATE SCHEMA first_one;CREATE SCHEMA other_one')
    const client = new pg.Pool({ connectionString: server.it.url, max: 1, options: '-c search_path=first_one' })
    const limiter = limiterOn({ table }, client)
    await limiter.hit('ada')
    await client.query('SET search_path = other_one')
    expect((await limiter.hit('ada')).remaining).toBe(3)
    await client.end()
  })

  test('a search_path without a schema is a clear error', async () => {
    await expect(hitAs({ options: '-c search_path=' }, { table: freshTable() })).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
    })
  })
})

describe('options', () => {
  test.each([
    ['table', ''],
    ['table', 'a.b.c'],
    ['table', 'x"; DROP TABLE y; --'],
    ['table', "x'y"],
    ['table', '1x'],
    ['table', 'x'.repeat(51)],
    ['table', 7],
    ['unlogged', 'yes'],
    ['createTable', 1],
    ['durable', 'on'],
    ['mode', 'fast'],
    ['sweepEveryMs', -1],
    ['sweepEveryMs', 1.5],
    ['sweepEveryMs', 2 ** 31],
    ['tabel', 'x'],
  ])('%s: %s is refused', (option, value) => {
    expect(() => limiterOn({ [option]: value })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option }))
  })

  test('postgresSchema checks its own', () => {
    expect(() => postgresSchema({ table: 'a b' })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'table' }))
    expect(() => postgresSchema({ unlogged: 1 as never })).toThrow(expect.objectContaining({ option: 'unlogged' }))
    expect(postgresSchema({ table: 'x'.repeat(50) })).toContain(`"${'x'.repeat(50)}_v1"`)
  })
})
