import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../create-limiter.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { storeError } from './store-errors.ts'
import { type Decide, type TransactionOptions, transactionStore } from './transaction.ts'
import type { Change } from './working-states.ts'

const rule = fixedWindow({ limit: 5, window: 1000, name: 'requests' })
const second = fixedWindow({ limit: 9, window: 1000, name: 'second' })

/** A database without locks that notes every transaction. `run` may fail it. */
function makeDatabase(options: Partial<TransactionOptions> = {}) {
  const clock = fakeClock()
  const rows = new Map<string, Uint8Array>()
  const log: { readonly names: readonly string[]; changes: readonly Change[] }[] = []
  const commit = (changes: readonly Change[]): void => {
    for (const { name, value } of changes) {
      if (value === undefined) rows.delete(name)
      else rows.set(name, value)
    }
  }
  const transact = async (names: readonly string[], decide: Decide): Promise<void> => {
    const entry = { names, changes: [] as readonly Change[] }
    log.push(entry)
    await new Promise(setImmediate)
    entry.changes = decide(rows, clock.now())
    await new Promise(setImmediate)
    commit(entry.changes)
  }
  const store = transactionStore({ clock, transact, size: async () => rows.size, ...options })
  return { clock, rows, log, store, commit }
}

describe('transactions', () => {
  test('the calls of a turn are one transaction: sorted names, each once, only rows that changed', async () => {
    const { log, store, clock } = makeDatabase()
    const limiter = createLimiter({ rules: [second, rule], store })
    await Promise.all([limiter.hit('b'), limiter.hit('a'), limiter.hit('b'), limiter.peek('c')])
    expect(log).toHaveLength(1)
    expect(log[0].names).toEqual([...new Set(log[0].names)].sort())
    expect(log[0].names).toHaveLength(6)
    expect(log[0].changes.map(({ name }) => name.split('|')[0]).sort()).toEqual(['a', 'a', 'b', 'b'])
    for (const { endsAt } of log[0].changes) expect(endsAt).toBe(clock.now() + 1000)
  })

  test('a denied hit in a live window writes nothing', async () => {
    const { log, store } = makeDatabase()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('a', { cost: 5 })
    expect((await limiter.hit('a')).allowed).toBe(false)
    expect(log[1].changes).toEqual([])
  })

  test('a row under way is waited for, others go in parallel, up to the bound', async () => {
    const { log, store } = makeDatabase({ transactions: 2 })
    const limiter = createLimiter({ rules: rule, store })
    const first = limiter.hit('a')
    await new Promise(setImmediate)
    const others = ['a', 'b', 'a'].map((key) => limiter.hit(key))
    await new Promise(setImmediate)
    expect(log.map(({ names }) => names.map((name) => name[0]))).toEqual([['a'], ['b']])
    const remaining = (await Promise.all([first, ...others])).map((decision) => decision.remaining)
    expect(remaining).toEqual([4, 3, 4, 2])
    expect(log.map(({ names }) => names.map((name) => name[0]))).toEqual([['a'], ['b'], ['a']])
  })

  test('a call that waited for the row of a refused one is decided after it', async () => {
    const { clock, log, store, rows, commit } = makeDatabase({
      async transact(names, decide) {
        log.push({ names, changes: [] })
        const isFirst = log.length === 1
        for (let i = 0; i < 3; i++) await new Promise(setImmediate)
        if (isFirst) throw storeError('refused', 'a deadlock')
        commit(decide(rows, clock.now()))
      },
    })
    const limiter = createLimiter({ rules: rule, store })
    const first = limiter.hit('a')
    while (log.length === 0) await new Promise(setImmediate)
    const second = limiter.hit('a', { cost: 2 })
    for (let i = 0; i < 20; i++) {
      await new Promise(setImmediate)
      clock.advance(1)
    }
    expect([(await first).remaining, (await second).remaining]).toEqual([4, 2])
  })

  test('calls and rows of a transaction are bounded', async () => {
    const { log, store } = makeDatabase({ calls: 3, rows: 2 })
    const limiter = createLimiter({ rules: rule, store })
    await Promise.all(['a', 'b', 'c', 'c', 'c', 'c'].map((key) => limiter.hit(key)))
    expect(log.map(({ names }) => names.length)).toEqual([2, 1, 1])
  })

  test('calls that wait are bounded, and the others refused', async () => {
    const { store } = makeDatabase({ waiting: 2 })
    const tally = store.tally([rule])
    const ask = () => tally.ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    const results = await Promise.allSettled([ask(), ask(), ask()])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect((results[2] as PromiseRejectedResult).reason).toMatchObject({ code: 'ERR_STORE_REFUSED' })
  })

  test('close waits for what was asked', async () => {
    const { rows, store } = makeDatabase()
    const hit = createLimiter({ rules: rule, store }).hit('a')
    await store.close()
    expect(rows.size).toBe(1)
    await hit
  })
})

describe('damage', () => {
  test('a damaged row fails its own calls and no others; reset deletes it', async () => {
    const { rows, store } = makeDatabase()
    const limiter = createLimiter({ rules: [rule, second], store })
    await limiter.hit('bad')
    for (const name of rows.keys()) if (name.includes('second')) rows.set(name, Uint8Array.of(9))
    const results = await Promise.allSettled([limiter.refund('bad'), limiter.hit('good'), limiter.hit('bad')])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
    expect((results[0] as PromiseRejectedResult).reason).toMatchObject({ code: 'ERR_STORE_FATAL' })
    expect(String((results[0] as PromiseRejectedResult).reason)).toContain('bad|')
    expect(await limiter.get('bad'), 'the refund wrote nothing').toBe(1)
    await limiter.reset('bad')
    expect((await limiter.hit('bad')).remaining).toBe(4)
  })

  test.each([['1763193637123'], [Number.NaN], [-1], [undefined]])('a clock that answers %s is refused', async (nowMs) => {
    const transact = async (_: readonly string[], decide: Decide): Promise<void> => void decide(new Map(), nowMs as number)
    const { store } = makeDatabase({ transact })
    await expect(createLimiter({ rules: rule, store }).hit('a')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  })
})

describe('errors', () => {
  const tallyWith = (transact: TransactionOptions['transact'], options: Partial<TransactionOptions> = {}) => {
    const { store, clock } = makeDatabase({ transact, ...options })
    const tally = store.tally([rule])
    const ask = (operation: 'hit' | 'get') => tally.ask({ operation, charges: [{ rule: 0, key: 'a', amount: 1 }] })
    return { ask, clock }
  }
  const fail = (error: unknown) => async (_: readonly string[], __: Decide) => Promise.reject(error)
  const failLate = (error: unknown) => async (_: readonly string[], decide: Decide) => {
    decide(new Map(), 1000)
    throw error
  }

  test.each([
    ['before decide', fail(new Error('gone')), 'hit', 'ERR_STORE_REFUSED'],
    ['after decide', failLate(new Error('gone')), 'hit', 'ERR_STORE_UNKNOWN'],
    ['after decide, without changes', failLate(new Error('gone')), 'get', 'ERR_STORE_REFUSED'],
    ['not connected', failLate(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })), 'hit', 'ERR_STORE_REFUSED'],
    ['deadlock', failLate(Object.assign(new Error('x'), { code: '40P01' })), 'hit', 'ERR_STORE_REFUSED'],
    ['serialization failure of another client', failLate({ sqlState: '40001', code: 'ER_X' }), 'hit', 'ERR_STORE_REFUSED'],
    ['completion unknown', failLate(Object.assign(new Error('x'), { code: '40003' })), 'hit', 'ERR_STORE_UNKNOWN'],
    ['no such table', fail(Object.assign(new Error('x'), { code: '42P01' })), 'hit', 'ERR_STORE_FATAL'],
    ['decide was not called', async () => {}, 'hit', 'ERR_STORE_FATAL'],
    ['something that is no error', failLate(undefined), 'hit', 'ERR_STORE_UNKNOWN'],
  ] as const)('%s', async (_, transact, operation, code) => {
    await expect(tallyWith(transact).ask(operation)).rejects.toMatchObject({ code })
  })

  test("the author's sorting goes first", async () => {
    const error = Object.assign(new Error('x'), { code: '40001' })
    const { ask } = tallyWith(failLate(error), { sortError: (thrown) => (thrown === error ? 'fatal' : undefined) })
    await expect(ask('hit')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', cause: error })
  })

  test('a transaction that does not end is given up, and can count nothing any more', async () => {
    let late: Decide | undefined
    const { ask, clock } = tallyWith((_, decide) => {
      late = decide
      return new Promise(() => {})
    })
    const asked = ask('hit')
    await new Promise(setImmediate)
    clock.advance(10_000)
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(() => late?.(new Map(), 1000)).toThrow()
  })

  test('a transaction that does not end after it decided is unknown', async () => {
    const { ask, clock } = tallyWith((_, decide) => {
      decide(new Map(), 1000)
      return new Promise(() => {})
    })
    const asked = ask('hit')
    await new Promise(setImmediate)
    clock.advance(10_000)
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  })

  test('the failure policy of a limiter works', async () => {
    const { store, clock } = makeDatabase({ transact: failLate(new Error('gone')) })
    const limiter = createLimiter({ rules: rule, store, failure: { then: 'allow' } })
    expect(await limiter.hit('a')).toMatchObject({ allowed: true, source: 'fallback', failure: { reason: 'unknown' } })
    expect(limiter.clock.now()).toBe(clock.now())
  })
})

describe('sweeping', () => {
  test('follows written rows, is bounded, spares rows that ended within the hour, and its errors fail no call', async () => {
    const swept: unknown[] = []
    const sweep = async (bounds: unknown): Promise<number> => {
      swept.push(bounds)
      throw new Error('not now')
    }
    const { store } = makeDatabase({ sweep, rows: 1024, calls: 1024 })
    const limiter = createLimiter({ rules: rule, store })
    for (let round = 0; round < 2; round++) {
      await Promise.all(Array.from({ length: 999 }, (_, i) => limiter.hit(`${round}-${i}`)))
      expect(swept).toHaveLength(round)
      await limiter.hit(`${round}-last`)
      await new Promise(setImmediate)
      expect(swept).toHaveLength(round + 1)
    }
    expect(swept[0]).toEqual({ rows: 2000, endedForMs: 3_600_000 })
  })

  test('clean sweeps until nothing is left, and returns the number of rows', async () => {
    const left = [2000, 2000, 7]
    const { store } = makeDatabase({ sweep: async ({ endedForMs }) => (endedForMs === 0 ? (left.shift() ?? 0) : -1) })
    expect(await store.clean()).toBe(4007)
  })
})

test.each([
  ['throws', (error: unknown) => (error as { code: string }).code.startsWith('40') as never],
  ['names no kind', () => 'constructor' as never],
])('sorting that %s leaves it to the engine, and holds neither the call nor its row', async (_, sortError) => {
  let isBroken = true
  const transact = async (_names: readonly string[], decide: Decide): Promise<void> => {
    decide(new Map(), 0)
    if (isBroken) throw new Error('no code')
  }
  const { store } = makeDatabase({ transact, sortError })
  const limiter = createLimiter({ rules: rule, store })
  await expect(limiter.hit('a')).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  isBroken = false
  expect((await limiter.hit('a')).allowed).toBe(true)
  await store.close()
})

test('options are checked', () => {
  for (const option of ['calls', 'rows', 'transactions', 'waiting', 'longestMs'] as const) {
    expect(() => makeDatabase({ [option]: 0 })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option }))
  }
  expect(() => makeDatabase({ longestName: 65 })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'longestName' }))
})
