// Commands on the same rows keep their order, though a pool has several connections, and none waits for ever.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../index.ts'
import { CommandLimit } from './command-limit.ts'
import { PostgresBatch } from './postgres-batch.ts'
import type { PostgresFunctions } from './postgres-functions.ts'
import { postgresStore } from './postgres-store.ts'
import { PostgresTable } from './postgres-table.ts'
import { RowOrder } from './row-order.ts'
import { describeRules } from './rule-numbers.ts'
import { LONGEST_MS } from './transaction-mode.ts'

const server = realPostgres()
const connected = clientFor(() => openPool(server.it.url))

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a call does not overtake an earlier one on its row that waits for another row', async () => {
  const table = freshTable()
  const rule = fixedWindow({ limit: 100, window: '1h', name: 'r' })
  const limiter = patientLimiter(rule, postgresStore(connected.it.client, { table, mode: 'function' }))
  await Promise.all([limiter.hit('blocked'), limiter.hit('key')])
  const other = await openPool(server.it.url, { max: 1 })
  await other.run(`BEGIN;SELECT 1 FROM ${table} WHERE name LIKE 'blocked%' FOR UPDATE`)
  const first = Promise.all([limiter.hit('blocked'), limiter.inc('key', 10)])
  await turn()
  const second = limiter.set('key', 5)
  await turn()
  const elsewhere = await limiter.hit('elsewhere')
  expect(elsewhere.remaining, 'calls on other rows do not wait').toBe(99)
  await other.run('ROLLBACK')
  expect((await first)[1]).toBe(11)
  expect(await second).toBe(5)
  expect(await limiter.get('key')).toBe(5)
  await other.close()
})

test('a row that another session holds is waited for, and then the call is refused', async () => {
  const table = freshTable()
  const rules = fixedWindow({ limit: 100, window: '1h', name: 'r' })
  const store = postgresStore(connected.it.client, { table, mode: 'function' })
  await patientLimiter(rules, store).hit('held')
  const other = await openPool(server.it.url, { max: 1 })
  await other.run(`BEGIN;SELECT 1 FROM ${table} FOR UPDATE`)
  const call = { operation: 'hit', charges: [{ rule: 0, key: 'held', amount: 1 }] } as const
  await expect(store.tally([rules]).ask(call)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
  await other.run('ROLLBACK')
  await other.close()
})

test('a hit that the short way has counted is not counted again if a later hit of its turn is refused', async () => {
  const table = freshTable()
  const rule = fixedWindow({ limit: 10, window: '1h', name: 'r' })
  const store = postgresStore(connected.it.client, { table, mode: 'function' })
  const limiter = patientLimiter(rule, store)
  await limiter.set('full', 10)
  const keys = ['a', 'b', 'c', 'd', 'e']
  await Promise.all(keys.map((key) => limiter.hit(key)))
  const other = await openPool(server.it.url, { max: 1 })
  // The short way takes a weaker lock than the function, so that only the function waits.
  await other.run(`BEGIN;SELECT 1 FROM ${table} WHERE name LIKE 'full%' FOR KEY SHARE`)
  const tally = store.tally([rule])
  const hit = (key: string) => tally.ask({ operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] })
  const hits = await Promise.allSettled(['full', ...keys].map(hit))
  await other.run('ROLLBACK')
  await other.close()
  expect(hits[0]).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_REFUSED' } })
  expect(hits.slice(1).map(({ status }) => status)).toEqual(keys.map(() => 'fulfilled'))
  expect(await Promise.all(keys.map((key) => limiter.get(key)))).toEqual(keys.map(() => 2))
})

test('a window that ends while a hit of the short way waits for its row is not charged', async () => {
  const table = freshTable()
  const rule = fixedWindow({ limit: 10, window: 300, name: 'r' })
  const limiter = patientLimiter(rule, postgresStore(connected.it.client, { table, mode: 'function' }))
  for (const keys of [['a'], ['a', 'b']]) {
    await limiter.hit('warm')
    for (const key of ['a', 'b']) await limiter.reset(key)
    for (const key of ['a', 'b', 'c']) await limiter.hit(key)
    const other = await openPool(server.it.url, { max: 1 })
    await other.run(`BEGIN;SELECT 1 FROM ${table} FOR UPDATE`)
    const hits = Promise.all(keys.map((key) => limiter.hit(key)))
    await new Promise((resolve) => setTimeout(resolve, 400))
    await other.run('ROLLBACK')
    await other.close()
    for (const hit of await hits) expect(hit).toMatchObject({ allowed: true, remaining: 9, resetAfterMs: 300 })
  }
})

describe('RowOrder', () => {
  test('runs in order on a shared row, and forgets rows that are free', async () => {
    const order = new RowOrder()
    const log: string[] = []
    const ends: (() => void)[] = []
    const run = (name: string, rows: string[]) =>
      order.run(rows, async () => {
        log.push(`${name} starts`)
        await new Promise<void>((resolve) => ends.push(resolve))
        if (name === 'first') throw new Error('it fails')
      })
    const runs = [run('first', ['a', 'b']), run('second', ['b', 'c']), run('other', ['d']), run('third', ['c'])]
    const settled = Promise.allSettled(runs)
    await turn()
    expect(log).toEqual(['first starts', 'other starts'])
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end()
      await turn()
    }
    await settled
    expect(log).toEqual(['first starts', 'other starts', 'second starts', 'third starts'])
    expect(order.size).toBe(0)
  })
})

describe('PostgresBatch', () => {
  afterEach(() => vi.useRealTimers())

  test('a command that is given up frees its rows, though its connection stays silent', async () => {
    vi.useFakeTimers()
    const sent: string[] = []
    const query = async (text: string) => {
      if (sent.push(text) === 1) await new Promise(() => {})
      return [{ answer: '1,0,1000' }]
    }
    const transaction = () => Promise.reject(new Error('there is none'))
    const connections = { isSingle: false, query, transaction } as const
    const table = new PostgresTable(connections, {})
    const functions = { names: { calls: 'calls', single: 'single', isReadCommitted: true } } as unknown as PostgresFunctions
    const batch = new PostgresBatch({ connections, table, functions, clock: undefined, isDurable: false, wrote() {} })
    const rules = describeRules([fixedWindow({ limit: 10, window: '1h' })])
    const hit = () => batch.execute([{ operation: 'hit', charges: [{ rule: 0, key: 'ada', amount: 1 }], rules }])
    const first = expect(hit()).rejects.toThrow('no answer')
    await vi.advanceTimersByTimeAsync(LONGEST_MS + 1000)
    await first
    await expect(hit()).resolves.toEqual([[1, 0, 1000]])
    expect(sent.length).toBe(2)
  })
})

describe('CommandLimit', () => {
  afterEach(() => vi.useRealTimers())

  test('gives a command up after its longest time, and only that one', async () => {
    vi.useFakeTimers()
    const limit = new CommandLimit()
    const error = new Error('over')
    const forever = () => new Promise<string>(() => {})
    const over = expect(limit.run(forever, () => error)).rejects.toBe(error)
    await vi.advanceTimersByTimeAsync(LONGEST_MS - 100)
    let isLate = false
    const late = limit.run(
      () => new Promise<string>((resolve) => setTimeout(() => resolve('in time'), 3000)),
      () => {
        isLate = true
        return error
      },
    )
    await vi.advanceTimersByTimeAsync(700)
    await over
    await vi.advanceTimersByTimeAsync(3000)
    expect(await late).toBe('in time')
    expect(isLate).toBe(false)
    await expect(
      limit.run(
        async () => 1,
        () => error,
      ),
    ).resolves.toBe(1)
  })
})
