// Holds in Redis: the expiry and the bytes of keys, damaged values, and programs of an earlier version that meet them.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import type { HoldTerms } from '../../src/core/call.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Tally } from '../../src/core/store.ts'
import { concurrency, fixedWindow, slidingLog, slidingWindow, tokenBucket } from '../../src/index.ts'
import { ALGORITHMS } from '../../src/stores/redis/program.ts'
import { describeRules, RedisCommand } from '../../src/stores/redis/redis-command.ts'
import { RedisKeys } from '../../src/stores/redis/redis-keys.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { everyRule, fakeClock } from '../../src/testing/index.ts'
import { beforeTests, freshPrefix, realRedis } from './real-redis.ts'

const server = realRedis()
const redis = beforeTests(
  async () => {
    const client = new Redis(server.it.port, '127.0.0.1')
    await client.ping()
    return client
  },
  (client) => client.disconnect(),
)

const HOUR_MS = 3_600_000
/** A key outlives its state by this time. */
const GRACE_MS = 1000

const terms = (id: number, ttlMs = 60_000, isCharged = true): HoldTerms => ({ id, ttlMs, isCharged, most: 2000 })

function setUp(rule: Rule, options = {}) {
  const prefix = freshPrefix()
  const keys = new RedisKeys(prefix)
  const tally: Tally = redisStore(redis.it, { prefix, ...options }).tally([rule])
  const charge = (amount: number, least?: number) => ({ rule: 0, key: 'ada', amount, ...(least !== undefined && { least }) })
  return {
    prefix,
    name: keys.startOf('ada') + keys.endOf(rule),
    hit: async () => tally.ask({ operation: 'hit', charges: [charge(1)] }),
    get: async () => (await tally.ask({ operation: 'get', charges: [charge(0)] }))[0],
    reset: async () => tally.ask({ operation: 'reset', charges: [charge(0)] }),
    reserve: async (hold: HoldTerms, units = 1) => tally.ask({ operation: 'reserve', charges: [charge(units, units)], hold }),
    settle: async (id: number, units = -1) =>
      (await tally.ask({ operation: 'settle', charges: [charge(units)], hold: terms(id) }))[0],
  }
}

/** The bytes of a value: a text, or all elements of a list. */
async function bytesOf(name: string): Promise<Buffer> {
  const isList = (await redis.it.type(name)) === 'list'
  return isList ? Buffer.concat(await redis.it.lrangeBuffer(name, 0, -1)) : ((await redis.it.getBuffer(name)) ?? Buffer.alloc(0))
}

describe('the expiry of a key', () => {
  test.each([...everyRule().filter(({ countsDenied }) => !countsDenied)])(
    'covers the charge of a hold that expires: $name',
    async (rule) => {
      const { name, reserve, settle } = setUp(rule)
      await reserve(terms(1))
      expect(await redis.it.pttl(name)).toBeGreaterThan(60_000 + rule.windowMs)
      expect(await redis.it.pttl(name)).toBeLessThanOrEqual(60_000 + 2 * rule.windowMs + GRACE_MS)
      expect(await settle(1)).toBe(1)
      // The expiry may stay that of the hold, if it is at most ten minutes late.
      expect(await redis.it.pttl(name)).toBeGreaterThan(GRACE_MS / 2)
      expect(await redis.it.pttl(name)).toBeLessThanOrEqual(60_000 + 2 * rule.windowMs + GRACE_MS)
    },
  )

  test('is that of its own window, if holds with the same terms on several rules share a command', async () => {
    const rules = [1000, HOUR_MS, 60_000].map((window) => fixedWindow({ limit: 5, window }))
    const prefix = freshPrefix()
    const store = redisStore(redis.it, { prefix })
    const keys = new RedisKeys(prefix)
    const charges = [{ rule: 0, key: 'ada', amount: 4, least: 4 }]
    const tallies: readonly Tally[] = rules.map((rule) => store.tally([rule]))
    await Promise.all(tallies.map(async (tally) => tally.ask({ operation: 'reserve', charges, hold: terms(1) })))
    for (const rule of rules) {
      const ttlMs = await redis.it.pttl(keys.startOf('ada') + keys.endOf(rule))
      expect(ttlMs, rule.name).toBeGreaterThan(60_000 + rule.windowMs)
      expect(ttlMs, rule.name).toBeLessThanOrEqual(60_000 + 2 * rule.windowMs + GRACE_MS)
    }
  })

  test('is that of the state again when the last hold of a long time has ended', async () => {
    const { name, reserve, settle } = setUp(fixedWindow({ limit: 5, window: 60_000 }))
    await reserve(terms(1, HOUR_MS))
    expect(await redis.it.pttl(name)).toBeGreaterThan(HOUR_MS + 60_000)
    expect(await settle(1)).toBe(1)
    expect(await redis.it.pttl(name)).toBeGreaterThan(59_000)
    expect(await redis.it.pttl(name)).toBeLessThanOrEqual(60_000 + GRACE_MS)
  })

  test.each([
    fixedWindow({ limit: 5, window: 1000 }),
    fixedWindow({ limit: 5, window: 1000, anchor: 'clock' }),
    slidingWindow({ limit: 5, window: 1000 }),
    slidingWindow({ limit: 5, window: 1000, round: 'none' }),
  ])('is left by the short way of a window, which the long way would not do: $name', async (rule) => {
    const { name, reserve, settle } = setUp(rule)
    await reserve(terms(1))
    expect(await settle(1)).toBe(1)
    expect(await redis.it.pttl(name)).toBeGreaterThan(50_000)
  })

  const windows = [fixedWindow({ limit: 500, window: HOUR_MS }), slidingWindow({ limit: 500, window: HOUR_MS })]
  const stateMs = (rule: Rule) => (rule.algorithm === 'sliding-window' ? 2 : 1) * HOUR_MS

  test.each(windows)('stays that of the window, if the hold ends within it: $name', async (rule) => {
    const { name, hit, reserve, settle } = setUp(rule)
    const expectWindow = async () => {
      const ttlMs = await redis.it.pttl(name)
      expect(ttlMs).toBeGreaterThan(stateMs(rule) - HOUR_MS / 4)
      expect(ttlMs).toBeLessThanOrEqual(stateMs(rule) + GRACE_MS)
    }
    await hit()
    for (const id of [1, 2, 3]) await reserve(terms(id, HOUR_MS / 2))
    await expectWindow()
    for (const id of [2, 1, 3]) {
      expect(await settle(id)).toBe(1)
      await expectWindow()
    }
  })

  test.each(windows)('covers a hold that ends after the window in which it was made: $name', async (rule) => {
    const { name, hit, reserve, settle } = setUp(rule)
    await hit()
    await reserve(terms(1, HOUR_MS / 2))
    // In a sliding window, units count as long again after the window in which they were spent.
    const ttlMs = HOUR_MS * 1.2
    await reserve(terms(2, ttlMs))
    expect(await redis.it.pttl(name)).toBeGreaterThan(ttlMs + stateMs(rule) - 1000)
    expect(await settle(1)).toBe(1)
    expect(await redis.it.pttl(name)).toBeGreaterThan(ttlMs + stateMs(rule) - 1000 - HOUR_MS / 4)
    expect(await settle(2)).toBe(1)
    expect(await redis.it.pttl(name)).toBeLessThanOrEqual(stateMs(rule) + GRACE_MS)
    expect(await redis.it.pttl(name)).toBeGreaterThan(stateMs(rule) - HOUR_MS / 4)
  })

  test.each(windows)('comes back if it is lost: $name', async (rule) => {
    const { name, hit, reserve, settle } = setUp(rule)
    await hit()
    await redis.it.persist(name)
    // One reserve in 16 looks for it.
    for (let id = 1; id <= 300 && (await redis.it.pttl(name)) === -1; id++) {
      await reserve(terms(id))
      expect(await settle(id)).toBe(1)
    }
    expect(await redis.it.pttl(name)).toBeGreaterThan(0)
  })

  test('covers a window that was opened while others held', async () => {
    const { name, reserve, settle } = setUp(fixedWindow({ limit: 5, window: HOUR_MS }))
    await reserve(terms(1, 1000, false))
    await reserve(terms(2, 1000, false))
    expect(await settle(1)).toBe(1)
    expect(await redis.it.pttl(name)).toBeGreaterThan(HOUR_MS - 1000)
  })

  test('is that of the hold, if it is released', async () => {
    const { name, reserve } = setUp(concurrency({ limit: 5, ttl: '1h' }))
    await reserve(terms(1, 60_000))
    expect(await redis.it.pttl(name)).toBeGreaterThan(59_000)
    expect(await redis.it.pttl(name)).toBeLessThanOrEqual(60_000 + GRACE_MS)
  })

  test('covers the charge of a hold on a bucket in debt', async () => {
    const rule = tokenBucket({ capacity: 10, refill: 10, every: 1000 })
    const prefix = freshPrefix()
    const keys = new RedisKeys(prefix)
    const tally = redisStore(redis.it, { prefix }).tally([rule])
    await tally.ask({ operation: 'reserve', charges: [{ rule: 0, key: 'ada', amount: 9, least: 9 }], hold: terms(1, 500) })
    await tally.ask({ operation: 'inc', charges: [{ rule: 0, key: 'ada', amount: 100 }] })
    // The debt of 100 takes 10 s. The hold is charged on top of it, and takes 0.9 s more.
    expect(await redis.it.pttl(keys.startOf('ada') + keys.endOf(rule))).toBeGreaterThan(10_900)
  })

  test('covers the charge of holds that are larger than the limit, after the limit was lowered', async () => {
    const prefix = freshPrefix()
    const store = redisStore(redis.it, { prefix })
    const keys = new RedisKeys(prefix)
    const [before, after] = [1000, 10].map((capacity) => tokenBucket({ capacity, refill: 1, every: '1s', name: 'lowered' }))
    const [large, small]: Tally[] = [before, after].map((rule) => store.tally([rule]))
    for (const id of [1, 2]) {
      await large.ask({ operation: 'reserve', charges: [{ rule: 0, key: 'ada', amount: 450, least: 450 }], hold: terms(id) })
      await small.ask({ operation: 'inc', charges: [{ rule: 0, key: 'ada', amount: 1 }] })
      expect(await redis.it.pttl(keys.startOf('ada') + keys.endOf(before))).toBeGreaterThan(59_000 + id * 450_000)
    }
  })
})

describe('the expiry of a key covers the charge of its holds after the window became longer', () => {
  const windows: Readonly<Record<string, (window: number) => Rule>> = {
    'fixed window': (window) => fixedWindow({ limit: 9, window, name: 'longer' }),
    'sliding window': (window) => slidingWindow({ limit: 9, window, name: 'longer' }),
    'sliding log': (window) => slidingLog({ limit: 9, window, name: 'longer' }),
    bucket: (window) => tokenBucket({ capacity: 9, refill: 9, every: window, name: 'longer' }),
  }

  function changed(make: (window: number) => Rule) {
    const prefix = freshPrefix()
    const store = redisStore(redis.it, { prefix })
    const [before, after]: Tally[] = [20_000, HOUR_MS].map((window) => store.tally([make(window)]))
    const ask = async (tally: Tally, operation: 'hit' | 'reserve' | 'settle', amount: number, hold?: HoldTerms) => {
      const charge = { rule: 0, key: 'ada', amount, ...(operation === 'reserve' && { least: amount }) }
      return tally.ask({ operation, charges: [charge], ...(hold && { hold }) })
    }
    return { before, after, ask, ttlMs: async () => redis.it.pttl((await redis.it.keys(`${prefix}:1:*`))[0]) }
  }

  test.each(Object.entries(windows))('with several holds: %s', async (_, make) => {
    const { before, after, ask, ttlMs } = changed(make)
    for (const id of [1, 2]) await ask(before, 'reserve', 1, terms(id))
    expect(await ttlMs()).toBeLessThanOrEqual(60_000 + 40_000 + GRACE_MS)
    await ask(after, 'hit', 1)
    expect(await ttlMs()).toBeGreaterThan(59_000 + 2 * HOUR_MS)
  })

  test.each(Object.entries(windows))('with denied hits alone: %s', async (_, make) => {
    const { before, after, ask, ttlMs } = changed(make)
    await ask(before, 'reserve', 1, terms(1))
    await ask(after, 'hit', 10)
    expect(await ttlMs()).toBeGreaterThan(59_000 + 2 * HOUR_MS)
  })

  test('with holds that end in the window of the state', async () => {
    const { before, after, ask, ttlMs } = changed(windows['fixed window'])
    await ask(before, 'hit', 1)
    await ask(before, 'reserve', 1, terms(1))
    expect((await ask(after, 'reserve', 1, terms(2, 10, false))).at(-1)).toBe(1)
    expect(await ttlMs()).toBeGreaterThan(59_000 + 2 * HOUR_MS)
  })

  test('with a settle while another hold stays', async () => {
    const { before, after, ask, ttlMs } = changed(windows['fixed window'])
    await ask(before, 'hit', 1)
    for (const id of [1, 2]) await ask(before, 'reserve', 1, terms(id))
    expect(await ask(after, 'settle', 1, terms(2))).toEqual([1])
    expect(await ttlMs()).toBeGreaterThan(59_000 + 2 * HOUR_MS)
  })
})

test('a key without holds has the bytes that it had before', async () => {
  for (const rule of everyRule()) {
    const plain = setUp(rule, { clock: fakeClock() })
    const held = setUp(rule, { clock: fakeClock() })
    await plain.hit()
    await held.reserve(terms(1))
    await held.settle(1, 1)
    expect(await bytesOf(held.name), rule.name).toEqual(await bytesOf(plain.name))
  }
})

describe('a key with many holds keeps Redis busy for less time than sorting them takes', () => {
  const COUNT = 1500
  /** Sorts as many holds. */
  const SORT = `local list = {}
    for i = 1, ARGV[1] do list[i] = { units = 1, expiresAt = (i * 7919) % 10007, at = i } end
    table.sort(list, function(a, b) return a.expiresAt < b.expiresAt end)
    return #list`
  const timeOf = async (run: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now()
    await run()
    return performance.now() - startMs
  }

  /** Returns the shortest times of a call and of sorting, in turns. */
  const timesOf = async (call: (turn: number) => Promise<unknown>): Promise<{ callMs: number; sortMs: number }> => {
    const times = { callMs: Number.POSITIVE_INFINITY, sortMs: Number.POSITIVE_INFINITY }
    for (let turn = 0; turn < 20; turn++) {
      times.callMs = Math.min(times.callMs, await timeOf(() => call(turn)))
      times.sortMs = Math.min(times.sortMs, await timeOf(async () => redis.it.eval(SORT, 0, COUNT)))
    }
    return times
  }

  const most = { most: 2 * COUNT }

  test('if all places are taken', async () => {
    const { reserve } = setUp(concurrency({ limit: COUNT, ttl: HOUR_MS }))
    const ends = Array.from({ length: COUNT }, (_, id) => HOUR_MS + ((id * 7919) % 10_007))
    await Promise.all(ends.map((ttlMs, id) => reserve({ ...terms(id, ttlMs), ...most })))
    const { callMs, sortMs } = await timesOf(async (turn) => {
      const [used, waitMs] = await reserve({ ...terms(COUNT + turn), ...most })
      expect(used).toBe(COUNT)
      expect(waitMs).toBeGreaterThan(HOUR_MS / 2)
    })
    expect(callMs).toBeLessThan(sortMs)
  })

  test('if one expires after another', async () => {
    const clock = fakeClock()
    const { reserve, hit, get } = setUp(fixedWindow({ limit: 2 * COUNT, window: HOUR_MS }), { clock })
    const ends = Array.from({ length: COUNT }, (_, id) => 1 + ((id * 7919) % COUNT))
    await Promise.all(ends.map((ttlMs, id) => reserve({ ...terms(id, ttlMs), ...most })))
    const { callMs, sortMs } = await timesOf(() => {
      clock.advance(1)
      return hit()
    })
    expect(callMs).toBeLessThan(sortMs)
    expect(await get()).toBe(COUNT + 20)
  })
})

test('a thousand holds of a key take 24 bytes each, and are found', async () => {
  for (const rule of [
    fixedWindow({ limit: 5000, window: HOUR_MS }),
    slidingLog({ limit: 5000, window: HOUR_MS }),
    concurrency({ limit: 5000, ttl: HOUR_MS }),
  ]) {
    const { name, reserve, settle, get } = setUp(rule)
    await Promise.all(Array.from({ length: 1000 }, (_, id) => reserve(terms(id, HOUR_MS))))
    expect(await get()).toBe(1000)
    expect((await bytesOf(name)).length).toBeLessThanOrEqual(1000 * 24 + 50)
    expect(await Promise.all([0, 500, 999].map((id) => settle(id)))).toEqual([1, 1, 1])
    expect(await settle(500)).toBe(0)
  }
})

test('a reserve and a settle that a client sends twice count once', async () => {
  const rule = fixedWindow({ limit: 9, window: HOUR_MS })
  const keys = new RedisKeys(freshPrefix())
  const rules = describeRules([rule], keys)
  const send = (operation: 'reserve' | 'settle', amount: number, bit: number) => {
    const charges = [{ rule: 0, key: 'ada', amount, ...(operation === 'reserve' && { least: amount }) }]
    const command = new RedisCommand([{ operation, charges, hold: terms(1), rules }], keys)
    const note = { name: `${keys.startOf('ada')}note`, bit, value: 1 } as const
    return redis.it.call('eval', command.program.source, ...command.arguments({ note })).catch((error: Error) => error.message)
  }
  const used = async () => Number((await bytesOf(keys.startOf('ada') + keys.endOf(rule))).readDoubleLE(8))
  expect(await send('reserve', 4, 1)).toMatch(/^4,0,/)
  const held = await bytesOf(keys.startOf('ada') + keys.endOf(rule))
  expect(await send('reserve', 4, 1)).toContain('REPEATED')
  expect(await bytesOf(keys.startOf('ada') + keys.endOf(rule))).toEqual(held)
  expect(await send('settle', 3, 2)).toBe('1')
  expect(await send('settle', 3, 2)).toContain('REPEATED')
  expect(await used()).toBe(3)
})

describe('a damaged value with holds', () => {
  const rules = { window: fixedWindow({ limit: 9, window: HOUR_MS }), log: slidingLog({ limit: 9, window: HOUR_MS }) }

  /** Values with the last three numbers of a good one replaced: units, first end and last end; of one hold its id, units and end. */
  const DAMAGED: Readonly<Record<number, readonly (readonly number[])[]>> = {
    1: [
      [1, Number.NaN, 1],
      [1, 0.5, 1],
      [1, 0, 1],
      [1, 2 ** 53, 1],
      [1, 1, Number.NaN],
      [1, -1, 0.5],
      [1, 1, -1],
    ],
    2: [
      [Number.NaN, 1, 1],
      [0.5, 1, 1],
      [0, 1, 1],
      [1, Number.NaN, 1],
      [1, 1, -1],
    ],
  }

  const cases = Object.entries(rules).flatMap(([kind, rule]) => [1, 2].map((count) => ({ kind, rule, count })))
  test.each(cases)('is refused, and is not changed: $kind, holds: $count', async ({ rule, count }) => {
    const { name, hit, reserve, settle, reset, get } = setUp(rule)
    const write = async (bytes: Buffer) => {
      if (rule === rules.window) return void (await redis.it.set(name, bytes))
      await redis.it.del(name)
      await redis.it.rpush(name, bytes)
    }
    for (let id = 1; id <= count; id++) await reserve(terms(id), 2)
    const good = await bytesOf(name)
    const [before, form] = good.subarray(-2)
    const bad = [
      good.subarray(0, -24),
      good.subarray(2),
      Buffer.concat([good.subarray(0, -1), Buffer.of(3 - form)]),
      Buffer.concat([good.subarray(0, -1), Buffer.of(3)]),
      Buffer.concat([good.subarray(0, -2), Buffer.of(200, form)]),
      Buffer.concat([good.subarray(0, -2), Buffer.of(before + 24, form)]),
      ...DAMAGED[count].map((numbers) =>
        Buffer.concat([good.subarray(0, -26), Buffer.from(Float64Array.from(numbers).buffer), good.subarray(-2)]),
      ),
    ]
    for (const bytes of bad) {
      await write(bytes)
      for (const call of [hit, get, () => reserve(terms(2)), () => settle(1)]) {
        await expect(call(), bytes.toString('hex')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
      }
      expect(await bytesOf(name)).toEqual(bytes)
    }
    await reset()
    expect(await get()).toBe(0)
  })
})

describe('a program of an earlier version', () => {
  const source = readFileSync(new URL('earlier-program.lua', import.meta.url), 'utf8')
  const sha1 = createHash('sha1').update(source).digest('hex')

  const known = everyRule().filter(({ algorithm }) => source.includes(`'${algorithm}'`))
  test.each(known)('refuses a key with holds, and leaves it as it is: $name', async (rule) => {
    const { name, reserve, settle } = setUp(rule)
    await reserve(terms(1))
    const before = await bytesOf(name)
    await redis.it.script('LOAD', source)
    const names = ALGORITHMS[rule.algorithm].parameters.filter((parameter) => parameter !== 'rate')
    for (const operation of ['hit', 'peek', 'inc', 'refund', 'get', 'set']) {
      const request = { sets: [[[rule.algorithm, ...names.map((each) => rule.parameters[each])]]], runs: [operation, 1, 1, 1] }
      const reply = await redis.it.call('evalsha', sha1, 1, name, JSON.stringify(request)).catch((error: Error) => error.message)
      expect(String(reply), operation).toContain('is not a state of its rule')
    }
    expect(await bytesOf(name)).toEqual(before)
    expect(await settle(1)).toBe(1)
  })
})
