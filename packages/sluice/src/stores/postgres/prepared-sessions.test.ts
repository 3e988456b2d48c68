import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startPgbouncer } from '../../../../../test/servers/pgbouncer-server.mjs'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { statementsOf } from './postgres-statements.ts'
import { postgresStore } from './postgres-store.ts'

const server = realPostgres()
const pool = clientFor(() => openPool(server.it.url))
const rule = fixedWindow({ limit: 100, window: '1h' })

async function preparedIn(client: pg.Client | pg.Pool): Promise<number> {
  const { rows } = await client.query("SELECT 1 FROM pg_prepared_statements WHERE name LIKE 'sluice\\_%'")
  return rows.length
}

test('different tables have different statements, with names that Postgres does not cut', () => {
  const [one, other] = ['"s"."a"', '"s"."b"'].map((table) => statementsOf(table).prepared)
  expect(one.id).not.toBe(other.id)
  const names = [...one.text.matchAll(/PREPARE (\w+) /g)].map(([, name]) => name)
  expect(new Set(names).size).toBe(7)
  for (const name of names) expect(name.length).toBeLessThan(64)
})

describe('a session', () => {
  test('prepares the statements once for several stores, and once for each table', async () => {
    const client = new pg.Client({ connectionString: server.it.url })
    await client.connect()
    const table = freshTable()
    const limiters = [1, 2].map(() => patientLimiter(rule, postgresStore(client, { table, mode: 'transaction' })))
    for (const limiter of limiters) await limiter.hit('ada')
    expect(await preparedIn(client)).toBe(7)
    await patientLimiter(rule, postgresStore(client, { table: freshTable(), mode: 'transaction' })).hit('ada')
    expect(await preparedIn(client)).toBe(14)
    await client.end()
  })

  test('that loses its statements goes on with texts, and counts once', async () => {
    const client = new pg.Pool({ connectionString: server.it.url, max: 1 })
    const limiter = patientLimiter(rule, postgresStore(client, { table: freshTable(), mode: 'transaction' }))
    await limiter.hit('ada')
    await client.query('DISCARD ALL')
    expect((await limiter.hit('ada')).remaining).toBe(98)
    expect((await limiter.hit('ada')).remaining).toBe(97)
    expect(await preparedIn(client)).toBe(0)
    await client.end()
  })

  test('works on with statements of a table that was dropped and made anew', async () => {
    const table = freshTable()
    const client = new pg.Pool({ connectionString: server.it.url, max: 1 })
    const limiter = patientLimiter(rule, postgresStore(client, { table, mode: 'transaction' }))
    await limiter.hit('ada')
    await pool.it.run(`DROP TABLE ${table}`)
    expect((await limiter.hit('ada')).remaining).toBe(99)
    expect(await preparedIn(client)).toBe(7)
    await client.end()
  })
})

test('behind PgBouncer in transaction mode, several clients on few sessions fail no call', async () => {
  const pgbouncer = await startPgbouncer(server.it.port, { poolSize: 2 })
  const table = freshTable()
  const pools = [1, 2, 3].map(() => new pg.Pool({ connectionString: pgbouncer.url }))
  const limiters = pools.map((each) => patientLimiter(rule, postgresStore(each, { table, mode: 'transaction' })))
  for (let i = 0; i < 10; i++) {
    const decisions = await Promise.all(limiters.flatMap((limiter) => ['a', 'b'].map((key) => limiter.hit(`${key} ${i}`))))
    expect(decisions.map(({ source, allowed }) => [source, allowed])).toEqual(Array(6).fill(['store', true]))
  }
  await Promise.all(pools.map((each) => each.end()))
  await pgbouncer.stop()
})
