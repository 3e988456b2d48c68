// Sessions whose settings differ from the usual ones, and what a transaction leaves in the table.

import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

const server = realPostgres()
const pool = clientFor(() => openPool(server.it.url))
const rule = fixedWindow({ limit: 3, window: '1h', name: 'r' })

/** Functions and operators that stand before those of Postgres, and are all wrong. */
const EVIL = `CREATE SCHEMA evil;
CREATE FUNCTION evil.string_to_array(text, text) RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY['stolen'] $$;
CREATE FUNCTION evil.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'stolen' $$;
CREATE FUNCTION evil.string_to_table(text, text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'stolen' $$;
CREATE FUNCTION evil.cardinality(float8[]) RETURNS int LANGUAGE sql AS $$ SELECT 0 $$;
CREATE FUNCTION evil.floor(float8) RETURNS float8 LANGUAGE sql AS $$ SELECT 0.5::float8 $$;
CREATE FUNCTION evil.floor(numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT 0::numeric $$;
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT to_timestamp(0) $$;
CREATE FUNCTION evil.never(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
CREATE FUNCTION evil.always(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.always);`

const SETTINGS: Readonly<Record<string, string>> = {
  'backslashes that escape': 'standard_conforming_strings=off -c escape_string_warning=off -c backslash_quote=off',
  'numbers of few digits': 'extra_float_digits=-15',
  'another time zone': 'TimeZone=Pacific/Kiritimati -c DateStyle=SQL,DMY -c IntervalStyle=sql_standard',
  'serializable by default': 'default_transaction_isolation=serializable',
  'another schema before that of Postgres': 'search_path=evil,pg_catalog,public',
  'another encoding': 'client_encoding=LATIN1',
}

beforeAll(async () => {
  await pool.it.run(EVIL)
})

describe.each(['transaction', 'function'] as const)('mode %s:', (mode) => {
  describe('a session with', () => {
    test.each(Object.entries(SETTINGS))('%s decides the same', async (_, settings) => {
      const table = `public.${freshTable()}`
      await pool.it.run(postgresSchema({ table }))
      const client = new pg.Pool({ connectionString: server.it.url, options: `-c ${settings}` })
      const store = postgresStore(client, { table, mode })
      const limiter = patientLimiter(rule, store)
      const keys = ['a', "a'b", 'a\\', "\\'; DROP TABLE x; --", '\u0000', '😀', '\ud83d', ' ', 'x'.repeat(10_000)]
      for (const key of keys) {
        const decisions = await Promise.all([1, 2, 3, 4].map(() => limiter.hit(key)))
        expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
        expect(decisions[0].resetAfterMs).toBe(3_600_000)
      }
      await limiter.reset('a')
      expect((await limiter.hit('a')).remaining).toBe(2)
      expect(await store.clean(), 'nothing has ended').toBe(0)
      expect(await store.size).toBe(keys.length)
      const [{ nowMs }] = await server.it.query(`SELECT (extract(epoch FROM now()) * 1000)::float8 AS "nowMs"`)
      expect(Math.abs((await limiter.expiresAt('a')) - 3_600_000 - nowMs)).toBeLessThan(5000)
      await client.end()
    })

    // A pool closes the connection of a query that failed, and the next one has other settings.
    test.runIf(mode === 'transaction')('read-only transactions is refused, and works again when they end', async () => {
      const table = freshTable()
      await pool.it.run(postgresSchema({ table }))
      const client = new pg.Pool({ connectionString: server.it.url, max: 1 })
      const limiter = patientLimiter(rule, postgresStore(client, { table, mode }))
      await limiter.hit('ada')
      await client.query('SET default_transaction_read_only = on')
      setTimeout(() => client.query('SET default_transaction_read_only = off'), 100)
      expect((await limiter.hit('ada')).remaining, 'the call is tried again').toBe(1)
      await client.end()
    })
  })

  describe('nothing is left in the table by', () => {
    const counting = fixedWindow({ limit: 1, window: '1h', name: 'one' })
    const rowsOf = async (table: string) => (await server.it.query(`SELECT name, cardinality(value) FROM ${table}`)).length

    test.each([
      ['peeks', ['peek', 'peek'], 0],
      ['hits that are denied', ['deny', 'deny'], 0],
      ['resets of new keys', ['reset'], 0],
      ['peeks and denied hits in the same turn as hits', ['peek', 'hit', 'deny', 'reset', 'hit'], 2],
    ])('%s', async (_, calls, rows) => {
      const table = freshTable()
      const limiter = patientLimiter(counting, postgresStore(pool.it.client, { table, mode }))
      await Promise.all(
        calls.map((call, i): Promise<unknown> => {
          const key = `${call}-${i}`
          if (call === 'peek') return limiter.peek(key)
          if (call === 'reset') return limiter.reset(key)
          return limiter.hit(key, { cost: call === 'deny' ? 2 : 1 })
        }),
      )
      expect(await rowsOf(table)).toBe(rows)
      expect((await server.it.query(`SELECT 1 FROM ${table} WHERE cardinality(value) = 0`)).length).toBe(0)
    })

    test('a reset', async () => {
      const table = freshTable()
      const limiter = patientLimiter(counting, postgresStore(pool.it.client, { table, mode }))
      await limiter.hit('a')
      await limiter.reset('a')
      expect(await rowsOf(table)).toBe(0)
    })
  })

  test('a damaged value fails its own call, other calls of the turn work, and reset deletes it', async () => {
    const table = freshTable()
    const limiter = patientLimiter(rule, postgresStore(pool.it.client, { table, mode }))
    await limiter.hit('bad')
    await pool.it.run(`UPDATE ${table} SET value = '{9}'`)
    const results = await Promise.allSettled([limiter.hit('bad'), limiter.hit('good')])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(results[0]).toMatchObject({ reason: { code: 'ERR_STORE_FATAL', message: expect.stringContaining('bad|') } })
    await limiter.reset('bad')
    expect((await limiter.hit('bad')).remaining).toBe(2)
  })

  test('updates stay in their block, and the planner uses the index in a table of 20,000 rows without statistics', async () => {
    const table = freshTable()
    const own = await openPool(server.it.url)
    const store = postgresStore(own.client, { table, mode })
    const limiter = patientLimiter(fixedWindow({ limit: 1e6, window: '1h' }), store)
    await limiter.hit('warm')
    await pool.it.run(`INSERT INTO ${table} SELECT 'filler' || i, '{1}', 1 FROM generate_series(1, 20000) AS i`)
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, (_, key) => limiter.hit(`key ${key}`)))
    // Connections report their statistics when they end.
    await own.close()
    const readStatistics = async () => {
      const [{ updated, hot, walked }] = await server.it.query(`SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot,
        seq_tup_read::int AS walked FROM pg_stat_user_tables WHERE relname = '${table}'`)
      return { areCounted: updated >= 900, areHot: hot > 0.9 * updated, walked }
    }
    await expect.poll(readStatistics).toEqual({ areCounted: true, areHot: true, walked: 0 })
  })
})
