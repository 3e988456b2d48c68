// The Lua translations against the definitions, where the store suite does not go: numbers near 2^53, and rules whose numbers
// change while their keys are in use.

import { describe, expect, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
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
  const limiters = (rules: Rule): [Limiter, Limiter] => [patientLimiter(rules, tested), createLimiter({ rules, store: defined })]
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
    tokenBucket({ capacity: 2 ** 40 - 1, refill: 2 ** 30 + 1, every: '1d', style: 'stepped' }),
    gcra({ limit: 7, period: '365d', burst: 100 }),
    leakyBucket({ capacity: 1_000_003, leak: 999_983, every: 999_979 }),
  ]
  for (const rule of rules) {
    test(rule.name, async () => {
      const { clock, limiters } = bothStores()
      await walk(...limiters(rule), clock, seededRandom(), 1000)
    })
  }
})

describe('long logs', () => {
  const rule = slidingLog({ limit: 400, window: 1000 })

  test('answer as the definition does', async () => {
    const random = seededRandom()
    const { clock, limiters } = bothStores()
    const [tested, defined] = limiters(rule)
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
    const [limiter] = limiters(slidingLog({ limit: 2000, window: '1h' }))
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

describe('new numbers under an old name', () => {
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
  for (const [algorithm, makeRule] of Object.entries(some)) {
    test(algorithm, async () => {
      const random = seededRandom()
      const { clock, limiters } = bothStores()
      for (let change = 0; change < 150; change++) {
        const rule = makeRule(random, random.whole(1, 12), random.pick(windows))
        await walk(...limiters(rule), clock, random, random.whole(1, 8), ['ada'])
      }
    })
  }
})
