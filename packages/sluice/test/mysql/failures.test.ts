// Faults in the middle of a transaction: errors are sorted, and nothing is counted twice.

import { createConnection, createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { until } from '../../../../test/servers/redis-server.mjs'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { createLimiter, fixedWindow, type SluiceError } from '../../src/index.ts'
import type { MysqlClient, MysqlQuery } from '../../src/stores/mysql/mysql-client.ts'
import { mysqlStore } from '../../src/stores/mysql/mysql-store.ts'
import { beforeTests } from '../redis/real-redis.ts'
import { type Ask, asOfMysql, poolWith, throughPool } from './clients.ts'
import { freshTable, patientLimiter, realMariadb } from './real-mariadb.ts'

const server = realMariadb()
const pool = beforeTests(
  async (): Promise<Pool> => createPool(server.it.address),
  (it) => it.end(),
)

const rule = fixedWindow({ limit: 1000, window: '1h', name: 'f' })

/** Calls of a store without deadlines and retries. `counted` reads the count through another pool. */
function callsOn(client: MysqlClient, table: string = freshTable()) {
  const tally = mysqlStore(client, { table }).tally([rule])
  const chargesOf = (keys: readonly string[]) => keys.map((key) => ({ rule: 0, key, amount: 1 }))
  return {
    table,
    hit: (...keys: string[]) => tally.ask({ operation: 'hit', charges: chargesOf(keys) }),
    get: (key: string) => tally.ask({ operation: 'get', charges: chargesOf([key]) }),
    counted: (key: string) => patientLimiter(rule, mysqlStore(pool.it, { table })).get(key),
  }
}

const lost = () => Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true })

/** Fails one query, before it is sent or after it was answered. */
function failing(when: 'before' | 'after', which: (sql: string) => boolean, error: () => Error) {
  let isArmed = false
  let failed = 0
  const client = throughPool(pool.it, async (query: MysqlQuery, ask: Ask) => {
    const isIt = isArmed && which(query.sql)
    if (isIt) failed += 1
    if (isIt && when === 'before') throw error()
    const answer = await ask(query)
    if (isIt) throw error()
    return answer
  })
  return {
    client,
    arm: (isOn = true) => {
      isArmed = isOn
    },
    failed: () => failed,
  }
}

const isFirstHalf = (sql: string) => sql.includes('FOR UPDATE')
const isSecondHalf = (sql: string) => sql.includes('UPDATE `')
const isCommit = (sql: string) => sql.includes('COMMIT AND')

describe('a connection that is lost', () => {
  test.each([
    ['before the first half', 'before', isFirstHalf, 'ERR_STORE_REFUSED', 1],
    ['after the first half', 'after', isFirstHalf, 'ERR_STORE_REFUSED', 1],
    ['before the second half', 'before', isSecondHalf, 'ERR_STORE_UNKNOWN', 1],
    ['after the second half', 'after', isCommit, 'ERR_STORE_UNKNOWN', 2],
  ] as const)('%s', async (_, when, which, code, counted) => {
    const fault = failing(when, which, lost)
    const { hit, counted: read } = callsOn(fault.client)
    await hit('ada')
    fault.arm()
    await expect(hit('ada')).rejects.toMatchObject({ code })
    expect(fault.failed(), 'not sent again').toBe(1)
    fault.arm(false)
    expect(await read('ada')).toBe(counted)
    await hit('ada')
    expect(await read('ada')).toBe(counted + 1)
  })

  test('a hit that changes nothing is refused, because nothing can have been counted', async () => {
    const fault = failing('after', isFirstHalf, lost)
    const { get } = callsOn(fault.client)
    await get('ada')
    fault.arm()
    await expect(get('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
  })

  test('KILL by an administrator, again and again, under load', async () => {
    const own = createPool(server.it.address)
    const { hit, counted } = callsOn(own)
    await hit('ada')
    const outcomes: string[] = []
    for (let round = 0; round < 8; round++) {
      const hits = Array.from({ length: 30 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i))
        return hit('ada').then(
          () => 'ok',
          (error: SluiceError) => error.code,
        )
      })
      await new Promise((resolve) => setTimeout(resolve, 10))
      const threads = await server.it.admin("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'app'")
      for (const { ID } of threads) await server.it.admin(`KILL ${ID}`).catch(() => {})
      outcomes.push(...(await Promise.all(hits)))
    }
    await own.end()
    const count = (name: string) => outcomes.filter((outcome) => outcome === name).length
    const total = await counted('ada')
    expect(total).toBeGreaterThanOrEqual(1 + count('ok'))
    expect(total).toBeLessThanOrEqual(1 + count('ok') + count('ERR_STORE_UNKNOWN'))
    expect(count('ERR_STORE_FATAL')).toBe(0)
    expect(count('ok')).toBeGreaterThan(100)
  })
})

describe('conflicts', () => {
  test('a row that somebody else makes in between: the hit is decided again, and both count', async () => {
    let isArmed = true
    const table = freshTable()
    const other = callsOn(pool.it, table)
    const client = throughPool(pool.it, async (query, ask) => {
      const answer = await ask(query)
      if (isArmed && isFirstHalf(query.sql)) {
        isArmed = false
        await other.hit('ada')
      }
      return answer
    })
    const { hit, counted } = callsOn(client, table)
    expect(await hit('ada')).toEqual([2, 0, expect.any(Number)])
    expect(await counted('ada')).toBe(2)
  })

  test('a key without a row blocks no other key: there are no locks on gaps', async () => {
    const impatient = poolWith(server.it.address, 'SET innodb_lock_wait_timeout = 1')
    const table = freshTable()
    const other = callsOn(impatient, table)
    let isArmed = true
    const client = throughPool(pool.it, async (query, ask) => {
      const answer = await ask(query)
      if (isArmed && isFirstHalf(query.sql)) {
        isArmed = false
        await other.hit('bob')
      }
      return answer
    })
    const { hit, counted } = callsOn(client, table)
    await hit('ada')
    expect([await counted('ada'), await counted('bob')]).toEqual([1, 1])
    await impatient.end()
  })

  test('a real deadlock: InnoDB rolls the hit back, and it is run again', async () => {
    const { hit, counted, table } = callsOn(pool.it)
    await hit('a', 'b')
    const deadlocksBefore = await server.it.deadlocks()
    const other = await createConnection(server.it.address)
    try {
      await other.query(`CREATE TABLE ${table}_heavy (id INT)`)
      await other.beginTransaction()
      // InnoDB rolls back the transaction that has written less.
      await other.query(`INSERT INTO ${table}_heavy VALUES ${Array(500).fill('(1)')}`)
      await other.query(`SELECT * FROM ${table} WHERE name LIKE 'b|%' FOR UPDATE`)
      const asked = hit('a', 'b')
      await until('the hit to wait', async () => (await server.it.lockWaits()) > 0)
      await other.query(`SELECT * FROM ${table} WHERE name LIKE 'a|%' FOR UPDATE`)
      await other.commit()
      await asked
      expect((await server.it.deadlocks()) - deadlocksBefore).toBe(1)
      expect([await counted('a'), await counted('b')]).toEqual([2, 2])
    } finally {
      other.destroy()
    }
  })

  test('are run again ten times, and then refused', async () => {
    const deadlock = () =>
      Object.assign(new Error('Deadlock found'), { errno: 1213, sqlState: '40001', code: 'ER_LOCK_DEADLOCK' })
    const fault = failing('before', isSecondHalf, deadlock)
    const { hit, counted } = callsOn(fault.client)
    await hit('ada')
    fault.arm()
    await expect(hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(fault.failed()).toBe(10)
    expect(await counted('ada')).toBe(1)
  })
})

describe('a server that refuses', () => {
  test.each([
    ['one round trip', (it: Pool): MysqlClient => it],
    ['statement by statement', asOfMysql],
  ])('a lock that is not free in time, %s', async (_, wrap) => {
    const impatient = poolWith(server.it.address, 'SET innodb_lock_wait_timeout = 1')
    const { hit, counted, table } = callsOn(wrap(impatient))
    await hit('ada')
    const other = await createConnection(server.it.address)
    try {
      await other.beginTransaction()
      await other.query(`SELECT * FROM ${table} FOR UPDATE`)
      await expect(hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
      await other.rollback()
      await hit('ada')
      expect(await counted('ada')).toBe(2)
    } finally {
      other.destroy()
      await impatient.end()
    }
  })

  test('all calls on a read-only server, because locks need it too', async () => {
    const { hit, get, counted } = callsOn(pool.it)
    await hit('ada')
    try {
      await server.it.admin('SET GLOBAL read_only = 1')
      await expect(hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
      await expect(hit('bob')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
      await expect(get('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    } finally {
      await server.it.admin('SET GLOBAL read_only = 0')
    }
    await hit('ada')
    expect([await counted('ada'), await counted('bob')]).toEqual([2, 0])
  })

  test('a lone connection works again after the server was read-only', async () => {
    const lone = await createConnection(server.it.address)
    const { hit, counted } = callsOn(lone)
    await hit('ada')
    try {
      await server.it.admin('SET GLOBAL read_only = 1')
      await expect(hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    } finally {
      await server.it.admin('SET GLOBAL read_only = 0')
    }
    await hit('ada')
    expect(await counted('ada')).toBe(2)
    lone.destroy()
  })

  test.each<[string, PoolOptions, string]>([
    ['a user who does not exist', { user: 'nobody' }, 'ERR_STORE_FATAL'],
    ['a database that does not exist', { database: 'nothing' }, 'ERR_STORE_FATAL'],
    ['a server that does not listen', { port: 1 }, 'ERR_STORE_REFUSED'],
  ])('%s', async (_, wrong, code) => {
    const broken = createPool({ ...server.it.address, ...wrong })
    await expect(callsOn(broken).hit('ada')).rejects.toMatchObject({ code })
    await broken.end()
  })

  test('a pool that is closed', async () => {
    const closed = createPool(server.it.address)
    const { hit } = callsOn(closed)
    await hit('ada')
    await closed.end()
    await expect(hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
  })
})

test('answers that are cut after any number of bytes: a hit is counted once or not at all, as its error says', async () => {
  const proxy = await startProxy(server.it.port)
  const own = createPool({ ...server.it.address, port: proxy.port, connectionLimit: 1 })
  const { hit, counted } = callsOn(own)

  async function cutAfter(bytes: number): Promise<string> {
    // Connects anew. A pool may notice late that its connection is lost.
    await hit('ada').catch(() => hit('ada'))
    const before = await counted('ada')
    proxy.conditions = { cutDownAfter: bytes, cutOnce: true }
    const outcome = await hit('ada').then(
      () => 'ok',
      (error: SluiceError) => error.code,
    )
    proxy.conditions = {}
    const [least, most] = { ok: [1, 1], ERR_STORE_REFUSED: [0, 0], ERR_STORE_UNKNOWN: [0, 1] }[outcome] ?? [-1, -1]
    const more = (await counted('ada')) - before
    expect(more, `${outcome} after ${bytes} bytes`).toBeGreaterThanOrEqual(least)
    expect(more, `${outcome} after ${bytes} bytes`).toBeLessThanOrEqual(most)
    return outcome
  }

  try {
    await hit('ada')
    // The answer to the first half has some hundred bytes, that to the second half about ten.
    const stride = roundsOf({ usual: 40, long: 1 })
    let bytes = 0
    while ((await cutAfter(bytes)) === 'ERR_STORE_REFUSED') bytes += stride
    const outcomes: string[] = []
    for (bytes = Math.max(0, bytes - stride - 12); outcomes.at(-1) !== 'ok'; bytes++) outcomes.push(await cutAfter(bytes))
    const unknown = outcomes.filter((outcome) => outcome === 'ERR_STORE_UNKNOWN').length
    expect(outcomes.filter((outcome) => outcome === 'ERR_STORE_REFUSED').length).toBeGreaterThan(0)
    expect(unknown, 'bytes of the second answer').toBeGreaterThan(6)
    expect(unknown).toBeLessThan(120)
  } finally {
    await own.end()
    await proxy.stop()
  }
})

test('a frozen server: calls settle by their deadline, and after it thaws nothing was counted twice', async () => {
  const own = createPool(server.it.address)
  const table = freshTable()
  const limiter = createLimiter({ rules: rule, store: mysqlStore(own, { table }), failure: { timeoutMs: 150, then: 'throw' } })
  let inDoubt = 0
  let granted = 0
  const hit = async () => {
    const startMs = performance.now()
    await limiter.hit('ada').then(
      () => {
        granted += 1
      },
      () => {
        inDoubt += 1
      },
    )
    expect(performance.now() - startMs).toBeLessThan(1000)
  }
  await hit()
  server.it.signal('SIGSTOP')
  try {
    for (let i = 0; i < 20; i++) await Promise.all([hit(), hit()])
  } finally {
    server.it.signal('SIGCONT')
  }
  expect(inDoubt).toBeGreaterThan(30)
  await until('the store to answer again', async () => {
    const before = granted
    await hit()
    return granted > before
  })
  const counted = await callsOn(own, table).counted('ada')
  expect(counted).toBeGreaterThanOrEqual(granted)
  expect(counted).toBeLessThanOrEqual(granted + inDoubt)
  await own.end()
})
