// Commands on the same rows keep their order, though a pool has several connections, and none waits for ever.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { fixedWindow } from '../../index.ts'
import { CommandLimit } from './command-limit.ts'
import { postgresStore } from './postgres-store.ts'
import { RowOrder } from './row-order.ts'
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
