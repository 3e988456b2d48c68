// Compares the Lua translations with the definitions in cases that the store suite does not have: numbers near 2^53, and rules
// whose numbers change while their keys are in use.

import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import type { Meter } from '../../algorithms/meter/meter.ts'
import { drainPerTickOf, paceOf } from '../../algorithms/meter/rate.ts'
import {
  createLimiter,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  type Rule,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../index.ts'
import { definitionStore, fakeClock } from '../../testing/index.ts'
import { type Random, seededRandom } from '../../testing/random.ts'
import { walk } from '../../testing/walk.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'

const server = realRedis()
const connected = clientFor(SINGLE.ioredis, () => server.it.port)

/** Limiters over Redis and over the definitions, on one clock, for any number of rules over the same states. */
function bothStores(options: RedisStoreOptions = {}) {
  const clock = fakeClock()
  const tested = redisStore(connected.it.client, { clock, prefix: freshPrefix(), ...options })
  const defined = definitionStore(clock)
  const limiters = (rules: Rule): { tested: Limiter; defined: Limiter } => ({
    tested: patientLimiter(rules, tested),
    defined: createLimiter({ rules, store: defined }),
  })
  return { clock, limiters }
}

describe('numbers up to 2^53', () => {
  const LARGEST = 2 ** 53 - 4
  const rules = [
    fixedWindow({ limit: LARGEST, window: '3650d' }),
    fixedWindow({ limit: LARGEST, window: '3650d', anchor: 'clock', countDenied: true, name: 'on the clock' }),
    slidingLog({ limit: LARGEST, window: '3650d' }),
    slidingLog({ limit: LARGEST, window: 40, name: 'a short log' }),
    slidingWindow({ limit: 2 ** 30 - 1, window: 2 ** 22 - 1 }),
    slidingWindow({ limit: 3, window: '3650d', round: 'none' }),
    tokenBucket({ capacity: 90_000_001, refill: 1_000_003, every: 86_399_999 }),
    tokenBucket({ capacity: 4_000_001, refill: 2 ** 31 - 1, every: 2 ** 31 }),
    tokenBucket({ capacity: 2 ** 40 - 1, refill: 2 ** 30 + 1, every: '1d', style: 'stepped' }),
    gcra({ limit: 7, period: '365d', burst: 100 }),
    leakyBucket({ capacity: 1_000_003, leak: 999_983, every: 999_979 }),
  ]
  for (const rule of rules) {
    test(rule.name, async () => {
      const { clock, limiters } = bothStores()
      await walk({ ...limiters(rule), clock, random: seededRandom(), steps: 1000 })
    })
  }
})

describe('long logs', () => {
  const rule = slidingLog({ limit: 400, window: 1000 })

  test('answer as the definition does', async () => {
    const random = seededRandom()
    const { clock, limiters } = bothStores()
    const { tested, defined } = limiters(rule)
    for (let step = 0; step < 3000; step++) {
      clock.set(clock.now() + random.pick([0, 1, 1, 2, 3, random.whole(0, 40) === 0 ? random.whole(-900, 900) : 1]))
      const cost = random.whole(1, random.pick([1, 2, 4, rule.limit]))
      const ask = random.pick<(limiter: Limiter) => unknown>([
        (limiter) => limiter.hit('ada', { cost: Math.min(cost, 3) }),
        ...Array(8).fill((limiter: Limiter) => limiter.hit('ada')),
        (limiter) => limiter.peek('ada', { cost }),
        (limiter) => limiter.inc('ada'),
        (limiter) => limiter.refund('ada', cost),
      ])
      expect(await ask(tested), `SEED=${random.seed}, step ${step}`).toEqual(await ask(defined))
    }
  })

  test('are not read through from end to end', async () => {
    const { clock, limiters } = bothStores({ batch: 1 })
    const { tested: limiter } = limiters(slidingLog({ limit: 2000, window: '1h' }))
    await limiter.peek('ada')
    const startMs = clock.now()
    await Promise.all(
      Array.from({ length: 2000 }, () => {
        clock.advance(1)
        return limiter.hit('ada')
      }),
    )
    const reads = async () => Number(/cmdstat_lindex:calls=(\d+)/.exec(await server.it.cli('INFO', 'commandstats'))?.[1])
    const before = await reads()
    expect(await limiter.hit('ada', { cost: 1500 })).toMatchObject({ retryAfterMs: startMs + 1500 + 3_600_000 - clock.now() })
    await limiter.refund('ada', 700)
    expect(await limiter.get('ada')).toBe(1300)
    expect((await reads()) - before).toBeLessThan(80)
  })
})

describe('new options under an old name', () => {
  const name = 'renumbered'
  const windows = [1, 7, 900, 1000, 60_000]
  const some: Readonly<Record<string, (random: Random, limit: number, window: number) => Rule>> = {
    'fixed window': (random, limit, window) =>
      fixedWindow({ name, limit, window, anchor: random.pick(['clock', 'first-hit']), countDenied: random.pick([true, false]) }),
    'sliding log': (_, limit, window) => slidingLog({ name, limit, window }),
    'sliding window': (random, limit, window) =>
      slidingWindow({
        name,
        limit,
        window,
        anchor: random.pick(['clock', 'first-hit']),
        round: random.pick(['down', 'none']),
      }),
    meter: (random, capacity, every) => tokenBucket({ name, capacity, refill: random.whole(1, 13), every }),
    'stepped meter': (random, capacity, every) =>
      tokenBucket({ name, capacity, refill: random.whole(1, 13), every, style: 'stepped' }),
  }
  /** Rates that are too large to be packed into one number. */
  const WIDE_EVERY = [2 ** 37 - 1, 2 ** 39 + 1, 2 ** 39]
  const wide: typeof some = {
    'wide meter': (random, capacity) =>
      tokenBucket({ name, capacity, refill: random.pick([65_537, 1_000_003]), every: random.pick(WIDE_EVERY) }),
    'wide stepped meter': (random, capacity) =>
      tokenBucket({ name, capacity, refill: random.pick([65_537, 1_000_003]), every: random.pick(WIDE_EVERY), style: 'stepped' }),
  }
  for (const [algorithm, makeRule] of Object.entries({ ...some, ...wide })) {
    test(algorithm, async () => {
      const random = seededRandom()
      const { clock, limiters } = bothStores()
      for (let change = 0; change < 150; change++) {
        const rule = makeRule(random, random.whole(1, 12), random.pick(windows))
        await walk({ ...limiters(rule), clock, random, steps: random.whole(1, 8), subjects: ['ada'] })
      }
    })
  }
})

describe('meters that older versions wrote, four cells for each', () => {
  /** Writes the state of ada as an older version would have. Returns true if there was one to write. */
  async function writeOld(prefix: string): Promise<boolean> {
    const client = connected.it.client as Redis
    const [name] = await client.keys(`${prefix}:1:*`)
    const value = name === undefined ? null : await client.getBuffer(name)
    if (value?.length !== 24) return false
    const rate = value.readDoubleLE(16)
    const cells = Float64Array.of(value.readDoubleLE(0), value.readDoubleLE(8), paceOf(rate), drainPerTickOf(rate))
    await client.set(name, Buffer.from(cells.buffer), 'KEEPTTL')
    return true
  }

  test.each(['smooth', 'stepped'] as const)('are read, at the same rate and at another: %s', async (style) => {
    const random = seededRandom()
    const prefix = freshPrefix()
    const { clock, limiters } = bothStores({ prefix })
    let written = 0
    for (let change = 0; change < 100; change++) {
      const every = random.pick([7, 1000, 60_000])
      const rule = tokenBucket({ name: 'old', capacity: 12, refill: random.whole(1, 13), every, style })
      for (let part = 0; part < 2; part++) {
        await walk({ ...limiters(rule), clock, random, steps: random.whole(1, 4), subjects: ['ada'] })
        if (await writeOld(prefix)) written += 1
      }
    }
    expect(written).toBeGreaterThan(20)
  })

  test('keep their count where their rate does not fit one cell', async () => {
    const prefix = freshPrefix()
    const { limiters } = bothStores({ prefix })
    const { tested: limiter } = limiters(tokenBucket({ name: 'old', capacity: 10, refill: 1, every: '1h' }))
    await limiter.hit('ada')
    const wide = tokenBucket({ name: 'old', capacity: 10, refill: 1_000_003, every: 2 ** 39 }) as Meter
    const client = connected.it.client as Redis
    const [name] = await client.keys(`${prefix}:1:*`)
    const expiresAt = (await limiter.expiresAt('ada')) + 3_600_000
    await client.set(name, Buffer.from(Float64Array.of(expiresAt, 7 * wide.unitsPerToken, wide.pace, wide.drainPerTick).buffer))
    expect(await limiter.get('ada')).toBe(7)
    expect((await client.getBuffer(name))?.length).toBe(32)
    expect(await limiter.inc('ada')).toBe(8)
    expect((await client.getBuffer(name))?.length).toBe(24)
  })
})
