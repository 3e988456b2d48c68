// Sessions with unusual settings: the store counts as always, and leaves them as they were.

import { createConnection, createPool } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { IS_MYSQL } from '../../../../test/servers/mariadb-server.mjs'
import { fixedWindow, parseRule } from '../../src/index.ts'
import { mysqlStore } from '../../src/stores/mysql/mysql-store.ts'
import { type Address, asOfMysql, poolWith, throughPool } from './clients.ts'
import { freshTable, patientLimiter, realMariadb } from './real-mariadb.ts'

const server = realMariadb()

const HOSTILE = [
  "o'brien",
  'back\\slash',
  '"quoted"',
  '`tick`',
  '\u0000',
  '😀',
  '\ud83d',
  '?',
  ':name',
  'é',
  'E',
  'e',
  'x'.repeat(10_000),
]

/** Counts every hostile key once, in one turn, and checks that each has its own count. */
async function countsHostileKeys(client: Parameters<typeof mysqlStore>[0]): Promise<void> {
  const limiter = patientLimiter(
    [fixedWindow({ limit: 5, window: '1h', name: 'a' }), parseRule('7/hour')],
    mysqlStore(client, { table: freshTable() }),
  )
  await Promise.all(HOSTILE.map((key) => limiter.hit(key)))
  await Promise.all(HOSTILE.map((key) => limiter.hit(key, { cost: 2 })))
  expect(await Promise.all(HOSTILE.map((key) => limiter.get(key, { rule: 'a' })))).toEqual(HOSTILE.map(() => 3))
  await limiter.close()
}

const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  'autocommit is off': ['SET autocommit = 0'],
  'sql_mode without backslashes': ["SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT'"],
  ...(IS_MYSQL ? {} : { 'sql_mode of Oracle': ["SET sql_mode = 'ORACLE'"] }),
  'no sql_mode at all': ["SET sql_mode = ''"],
  'transactions are chained': ['SET completion_type = 1'],
  'the level SERIALIZABLE': ['SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE'],
  'results are cut, and updates have to be safe': ['SET sql_select_limit = 1', 'SET sql_safe_updates = 1'],
  'a character set of two bytes': ["SET NAMES 'gbk'"],
  'another time zone': ["SET time_zone = '-12:00'"],
}

describe('settings of a session', () => {
  test.each(Object.entries(SETTINGS))('%s', async (_, statements) => {
    const pool = poolWith(server.it.address, ...statements)
    try {
      await countsHostileKeys(pool)
      await countsHostileKeys(asOfMysql(pool))
    } finally {
      await pool.end()
    }
  })
})

const OPTIONS: Readonly<Record<string, Address>> = {
  'several statements in one text': { multipleStatements: true },
  'answers of another form': {
    rowsAsArray: true,
    nestTables: '_',
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    namedPlaceholders: true,
    typeCast: () => 'cast',
  } as Address,
  'a character set of one byte': { charset: 'LATIN1_SWEDISH_CI' },
}

describe('options of a client', () => {
  test.each(Object.entries(OPTIONS))('%s', async (_, options) => {
    const pool = createPool({ ...server.it.address, ...options })
    try {
      await countsHostileKeys(pool)
      await countsHostileKeys(asOfMysql(pool))
    } finally {
      await pool.end()
    }
  })
})

/** Everything that a session can keep from a transaction. */
const [LEVEL, READ_ONLY] = IS_MYSQL
  ? ['@@transaction_isolation', '@@transaction_read_only']
  : ['@@tx_isolation', '@@tx_read_only']
const SESSION = `SELECT @@autocommit, ${LEVEL}, ${READ_ONLY}, @@sql_mode, @@time_zone, @@innodb_lock_wait_timeout,
  @@timestamp > 0, DATABASE()`

test.each([
  ['on', 1],
  ['off', 0],
])('a session is afterwards as it was before, autocommit %s', async (_, autocommit) => {
  const connection = await createConnection(server.it.address)
  try {
    await connection.query(`SET autocommit = ${autocommit}`)
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE')
    const [before] = await connection.query(SESSION)
    const store = mysqlStore(connection, { table: freshTable() })
    const limiter = patientLimiter(parseRule('2/hour'), store)
    for (let i = 0; i < 3; i++) await limiter.hit('ada')
    await limiter.peek('bob')
    await store.size
    await store.clean()
    const [after] = await connection.query(SESSION)
    expect(after).toEqual(before)
  } finally {
    connection.destroy()
  }
})

test('a transaction of the application on the same connection is neither committed nor rolled back', async () => {
  const connection = await createConnection(server.it.address)
  const table = freshTable()
  const store = mysqlStore(connection, { table })
  const limiter = patientLimiter(parseRule('5/hour'), store)
  const tally = store.tally(limiter.rules)
  const hit = () => tally.ask({ operation: 'hit', charges: [{ rule: 0, key: 'ada', amount: 1 }] })
  try {
    await connection.query(`CREATE TABLE ${table}_orders (id INT)`)
    for (const isPrepared of [false, true]) {
      await connection.beginTransaction()
      await connection.query(`INSERT INTO ${table}_orders VALUES (1)`)
      await expect(hit(), `prepared: ${isPrepared}`).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
      const open = `SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = ${connection.threadId}`
      expect(await server.it.admin(open)).toHaveLength(1)
      await connection.rollback()
      await hit()
    }
    const orders = await server.it.admin(`SELECT * FROM app.${table}_orders`)
    expect(orders).toEqual([])
    expect(await limiter.get('ada')).toBe(2)
  } finally {
    connection.destroy()
  }
})

describe('round trips', () => {
  /** Counts the texts of a hit that is allowed, of one that is denied, and of 64 hits together. */
  async function roundTrips(isMysql: boolean, options: Address = {}): Promise<readonly number[]> {
    const pool = createPool({ ...server.it.address, ...options })
    let sent = 0
    const counted = throughPool(pool, async (query, ask) => {
      sent += 1
      return isMysql && query.sql === 'SELECT VERSION()' ? [[['8.4.3']], [{}]] : ask(query)
    })
    const limiter = patientLimiter(parseRule('2/hour'), mysqlStore(counted, { table: freshTable() }))
    const during = async (work: () => Promise<unknown>): Promise<number> => {
      const before = sent
      await work()
      return sent - before
    }
    try {
      await limiter.hit('first')
      await limiter.hit('ada')
      const allowed = await during(() => limiter.hit('ada'))
      const denied = await during(() => limiter.hit('ada'))
      const keys = Array.from({ length: 64 }, (_, i) => `key ${i}`)
      const many = await during(() => Promise.all(keys.map((key) => limiter.hit(key))))
      return [allowed, denied, many]
    } finally {
      await pool.end()
    }
  }

  // The COMMIT of a hit that is denied is sent too, but nobody waits for it.
  test.skipIf(IS_MYSQL)('two on MariaDB', async () => expect(await roundTrips(false)).toEqual([2, 2, 2]))
  test('two on MySQL with multipleStatements', async () =>
    expect(await roundTrips(true, { multipleStatements: true })).toEqual([2, 2, 2]))
  test('six on MySQL without', async () => expect(await roundTrips(true)).toEqual([6, 5, 6]))
})
