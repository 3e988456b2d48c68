// The table: made on demand or by hand, its version, its rows, and sweeping.

import { createConnection, createPool, type Pool } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import { parseRule } from '../../src/index.ts'
import { type MysqlStoreOptions, mysqlStore } from '../../src/stores/mysql/mysql-store.ts'
import { mysqlSchema } from '../../src/stores/mysql/mysql-table.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { beforeTests } from '../redis/real-redis.ts'
import { freshTable, patientLimiter, realMariadb } from './real-mariadb.ts'

const server = realMariadb()
const pool = beforeTests(
  async (): Promise<Pool> => createPool(server.it.address),
  (it) => it.end(),
)

function limiterOn(options: MysqlStoreOptions) {
  return patientLimiter(parseRule('5/minute'), mysqlStore(pool.it, options))
}

describe('making the table', () => {
  test('happens with the first call, also from many stores at once', async () => {
    const table = freshTable()
    const limiters = Array.from({ length: 8 }, () => limiterOn({ table }))
    const decisions = await Promise.all(limiters.map((limiter) => limiter.hit('ada')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
  })

  test('can be done by hand, also in another database', async () => {
    const table = freshTable()
    await server.it.admin(
      `CREATE DATABASE ${table}`,
      mysqlSchema({ table: `${table}.limits` }),
      `GRANT ALL ON ${table}.* TO app@'%'`,
    )
    const limiter = limiterOn({ table: `${table}.limits`, createTable: false })
    expect((await limiter.hit('ada')).remaining).toBe(4)
    expect(await server.it.admin(`SELECT COUNT(*) AS n FROM ${table}.limits`)).toEqual([{ n: 1 }])
  })

  test('is refused with createTable: false, until somebody makes it', async () => {
    const table = freshTable()
    const limiter = limiterOn({ table, createTable: false })
    const failed = limiter.hit('ada')
    await expect(failed).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', message: expect.stringContaining('mysqlSchema()') })
    await pool.it.query(mysqlSchema({ table }))
    expect((await limiter.hit('ada')).remaining).toBe(4)
  })

  test('needs a right, and says so', async () => {
    await server.it.admin("CREATE USER poor@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO poor@'%'")
    const connection = await createConnection({ ...server.it.address, user: 'poor' })
    const table = freshTable()
    const limiter = patientLimiter(parseRule('5/minute'), mysqlStore(connection, { table }))
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_FATAL',
      message: expect.stringContaining('mysqlSchema()'),
    })
    await pool.it.query(mysqlSchema({ table }))
    expect((await limiter.hit('ada')).remaining, 'these rights are enough').toBe(4)
    connection.destroy()
  })

  test('happens again after somebody has dropped it', async () => {
    const table = freshTable()
    const limiter = limiterOn({ table })
    await limiter.hit('ada')
    await pool.it.query(`DROP TABLE ${table}`)
    expect((await limiter.hit('ada')).remaining).toBe(4)
  })

  test('happens again after a size or a sweep has found none', async () => {
    const table = freshTable()
    const store = mysqlStore(pool.it, { table })
    expect(await store.size).toBe(0)
    await pool.it.query(`DROP TABLE ${table}`)
    await expect(store.size).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect([await store.size, await store.clean()]).toEqual([0, 0])
  })
})

describe('a table that is not of this version', () => {
  test.each([
    ['of a later version', "(name INT) ENGINE = InnoDB COMMENT = 'sluice 2'"],
    ['of somebody else', '(name INT) ENGINE = InnoDB'],
    ['without transactions', "(name INT) ENGINE = MyISAM COMMENT = 'sluice 1'"],
  ])('%s is refused and left alone', async (_, form) => {
    const table = freshTable()
    await pool.it.query(`CREATE TABLE ${table} ${form}`)
    const failed = limiterOn({ table }).hit('ada')
    await expect(failed).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', message: expect.stringContaining(table) })
    expect(await server.it.admin(`SELECT COUNT(*) AS n FROM app.${table}`)).toEqual([{ n: 0 }])
  })
})

describe('rows', () => {
  test('a peek, and a hit that is too dear, leave none', async () => {
    const table = freshTable()
    const limiter = limiterOn({ table })
    await limiter.peek('ada')
    await limiter.hit('ada', { cost: 6 })
    await limiter.get('bob')
    expect(await mysqlStore(pool.it, { table }).size).toBe(0)
    await limiter.hit('ada')
    expect(await mysqlStore(pool.it, { table }).size).toBe(1)
    await limiter.reset('ada')
    expect(await mysqlStore(pool.it, { table }).size).toBe(0)
  })

  test('names that differ in case, accents or spaces at the end are different rows', async () => {
    const limiter = limiterOn({ table: freshTable() })
    const keys = ['ada', 'Ada', 'ada ', 'adä', 'ada\u0000']
    for (const [i, key] of keys.entries()) await limiter.set(key, i + 1)
    expect(await Promise.all(keys.map((key) => limiter.get(key)))).toEqual([1, 2, 3, 4, 5])
  })

  test('a damaged value fails its own call, and reset deletes it', async () => {
    const table = freshTable()
    const limiter = limiterOn({ table })
    await limiter.hit('bad')
    await pool.it.query(`UPDATE ${table} SET value = X'0901'`)
    const results = await Promise.allSettled([limiter.hit('bad'), limiter.hit('good')])
    expect(results).toMatchObject([{ status: 'rejected', reason: { code: 'ERR_STORE_FATAL' } }, { status: 'fulfilled' }])
    await limiter.reset('bad')
    expect((await limiter.hit('bad')).remaining).toBe(4)
  })
})

describe('sweeping', () => {
  const hitKeys = (limiter: ReturnType<typeof limiterOn>, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => limiter.hit(`key ${i}`)))

  test('clean deletes what has ended, and nothing else', async () => {
    const clock = fakeClock()
    const table = freshTable()
    const store = mysqlStore(pool.it, { table, clock })
    const limiter = patientLimiter(parseRule('5/minute'), store)
    await hitKeys(limiter, 1200)
    clock.advance(30_000)
    await limiter.hit('late')
    expect(await store.clean()).toBe(0)
    clock.advance(30_000)
    expect(await store.clean()).toBe(1200)
    expect(await store.size).toBe(1)
  })

  test('by the server’s clock', async () => {
    const table = freshTable()
    const store = mysqlStore(pool.it, { table })
    await patientLimiter(parseRule('5/second'), store).hit('short')
    await patientLimiter(parseRule('5/hour'), store).hit('long')
    await until('the window to end', async () => (await store.clean()) === 1)
    expect(await store.size).toBe(1)
  })

  test('follows writes in the background, and spares rows for an hour', async () => {
    const clock = fakeClock()
    const store = mysqlStore(pool.it, { table: freshTable(), clock, sweepEveryMs: 50 })
    const limiter = patientLimiter(parseRule('5/minute'), store)
    await hitKeys(limiter, 10)
    clock.advance(60_000 + 3_599_999)
    await limiter.hit('first')
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(await store.size, 'spared').toBe(11)
    clock.advance(1)
    await limiter.hit('first')
    await until('the sweep', async () => (await store.size) === 1)
    await limiter.close()
    await store.close()
  })

  test('while others hit the same rows, no hit is lost and nothing deadlocks', async () => {
    const clock = fakeClock()
    const table = freshTable()
    const store = mysqlStore(pool.it, { table, clock })
    const limiter = patientLimiter(parseRule('100000/minute'), store)
    for (let round = 0; round < 5; round++) {
      clock.advance(60_000)
      const [decisions] = await Promise.all([hitKeys(limiter, 300), store.clean(), store.clean()])
      expect(decisions.every(({ remaining }) => remaining === 99_999)).toBe(true)
      expect(await limiter.get('key 7')).toBe(1)
    }
  })
})

test.each(['', 'a b', 'Big', 'x`; DROP TABLE y; --', 'a.b.c', 'x'.repeat(65), 7, null, 'naïve'])(
  'the table name %j is refused',
  (table) => {
    const expected = expect.objectContaining({ code: 'ERR_OPTION', option: 'table' })
    expect(() => mysqlSchema({ table: table as string })).toThrow(expected)
    expect(() => mysqlStore(pool.it, { table: table as string })).toThrow(expected)
  },
)
