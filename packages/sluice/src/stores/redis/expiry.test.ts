// The keys that the store leaves in Redis: each expires soon after its state has ended, and none is larger than necessary.

import { Cluster, Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { beforeTests, freshPrefix, patientLimiter, realCluster, realRedis } from '../../../test/redis/real-redis.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { fixedWindow, type Rule, slidingLog, slidingWindow, tokenBucket } from '../../index.ts'
import { everyRule, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { RedisKeys } from './redis-keys.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const redis = beforeTests(
  // With pipelines of its own the client resends commands, so that there is a note.
  async () => new Redis(server.it.port, { enableAutoPipelining: true }),
  (client) => client.disconnect(),
)

/** The longest time that a key may live after its state has ended. */
const GRACE_MS = 1000
/** The key of a meter may live longer, by this or by a quarter of its state. */
const METER_STEP_MS = 512
/** The same time, if the test passes its own clock. */
const GRACE_UNDER_CLOCK_MS = 3_600_000
/** Time for which notes of executed commands are kept. */
const NOTED_MS = 600_000
/** One hit in so many looks if its key has lost the expiry. */
const LOOKS_EVERY = 16

function limiterOver(rules: Rule | readonly Rule[], options = {}) {
  const prefix = freshPrefix()
  const store = redisStore(redis.it, { prefix, ...options })
  const keys = new RedisKeys(prefix)
  const nameOf = (key: string, rule: Rule) => keys.startOf(key) + keys.endOf(rule)
  return { limiter: patientLimiter(rules, store), store, prefix, nameOf }
}

describe('every key ends', () => {
  test('one second after its state, after any calls', async () => {
    const random = seededRandom()
    const { limiter, prefix, nameOf } = limiterOver(everyRule())
    const keys = ['ada', 'bob', '__proto__', '😀', 'x'.repeat(300)]
    for (let call = 0; call < 1500; call++) {
      const key = random.pick(keys)
      const rule = random.pick(limiter.rules)
      const cost = random.whole(1, 9)
      await random.pick<() => unknown>([
        () => limiter.hit(key, { cost }),
        () => limiter.hit(key),
        () => limiter.peek(key),
        () => limiter.inc(key, cost, { rule: rule.name }),
        () => limiter.set(key, cost, { rule: rule.name }),
        () => limiter.refund(key, cost),
        () => random.whole(0, 9) === 0 && limiter.reset(key),
      ])()
      if (call % 50 !== 0) continue
      const endsMs = await limiter.expiresAt(key, { rule: rule.name })
      const [ttlMs, nowMs] = await Promise.all([redis.it.pttl(nameOf(key, rule)), timeOf(redis.it)])
      if (endsMs === 0) continue
      expect(ttlMs, `SEED=${random.seed}, ${rule.name}`).toBeGreaterThan(endsMs - nowMs)
      const extraMs = rule.algorithm.endsWith('meter') ? Math.max(METER_STEP_MS, (endsMs - nowMs) / 4) : 0
      expect(ttlMs, `SEED=${random.seed}, ${rule.name}`).toBeLessThanOrEqual(endsMs - nowMs + GRACE_MS + extraMs + 50)
    }
    const names = await redis.it.keys(`${prefix}:*`)
    const ttls = await Promise.all(names.map((name) => redis.it.pttl(name)))
    expect(names.length).toBeGreaterThan(20)
    const longestMs = Math.max(...limiter.rules.map(({ windowMs }) => 2 * windowMs)) + GRACE_MS
    for (const [i, name] of names.entries()) {
      expect(ttls[i], name).toBeGreaterThan(0)
      expect(ttls[i], name).toBeLessThanOrEqual(name.startsWith(`${prefix}:once:`) ? NOTED_MS : longestMs)
    }
    expect(names.filter((name) => name.startsWith(`${prefix}:once:`))).toHaveLength(1)
  })

  test('that of a bucket is set with few hits, also with denied ones', async () => {
    const { limiter } = limiterOver(tokenBucket({ capacity: 200, refill: 1, every: '5s' }))
    await limiter.hit('ada')
    await redis.it.config('RESETSTAT')
    for (let i = 0; i < 400; i++) await limiter.hit('ada')
    const stats = await redis.it.info('commandstats')
    // Four to eight while the debt doubles, and the debt doubles eight times.
    expect(Number(/cmdstat_set:calls=(\d+)/.exec(stats)?.[1])).toBeLessThanOrEqual(64)
  })

  test('that of a bucket moves with a larger debt, also if the clock has stepped back and the end is the same', async () => {
    const clock = fakeClock()
    const rule = tokenBucket({ capacity: 100, refill: 1, every: '1m' })
    const { limiter, nameOf } = limiterOver(rule, { clock })
    // The step of four minutes is 2^15 ms, and that of five is 2^16 ms. The end is just after a multiple of both.
    const startMs = 2 ** 16 * 30_000_000 + 100 - 4 * 60_000
    clock.set(startMs)
    await limiter.hit('ada', { cost: 4 })
    const endMs = await limiter.expiresAt('ada')
    clock.set(startMs - 60_000)
    await limiter.inc('ada')
    expect(await limiter.expiresAt('ada')).toBe(endMs)
    const { resetAfterMs } = await limiter.hit('ada')
    expect(await redis.it.pttl(nameOf('ada', rule))).toBeGreaterThanOrEqual(resetAfterMs + GRACE_UNDER_CLOCK_MS)
  })

  for (const rule of everyRule()) {
    test(`one that has lost its expiry gets it back from one of the next 16 hits, allowed or denied: ${rule.name}`, async () => {
      const clock = fakeClock()
      const { limiter, nameOf } = limiterOver(rule, { clock })
      for (const cost of [1, rule.limit]) {
        await limiter.reset('ada')
        await limiter.hit('ada')
        await redis.it.persist(nameOf('ada', rule))
        const { allowed } = await limiter.hit('ada', { cost })
        expect(allowed).toBe(cost === 1)
        for (let hit = 1; hit < LOOKS_EVERY; hit++) {
          clock.advance(1)
          await limiter.hit('ada', { cost })
        }
        const ttlMs = await redis.it.pttl(nameOf('ada', rule))
        expect(ttlMs).toBeGreaterThan(0)
        expect(ttlMs).toBeLessThanOrEqual(2 * rule.windowMs + GRACE_UNDER_CLOCK_MS)
      }
    })

    test(`one that lives on blocks nobody: ${rule.name}`, async () => {
      const clock = fakeClock()
      const { limiter, nameOf } = limiterOver(rule, { clock })
      const { resetAfterMs } = await limiter.hit('ada', { cost: rule.limit })
      await redis.it.persist(nameOf('ada', rule))
      clock.advance(resetAfterMs)
      expect(await limiter.hit('ada', { cost: rule.limit })).toMatchObject({ allowed: true, remaining: 0 })
      expect(await redis.it.pttl(nameOf('ada', rule))).toBeGreaterThan(0)
    })

    test(`what has nothing to say leaves no key: ${rule.name}`, async () => {
      const clock = fakeClock()
      const { limiter, nameOf } = limiterOver(rule, { clock })
      const exists = () => redis.it.exists(nameOf('ada', rule))
      await limiter.refund('ada', 3)
      await limiter.peek('ada')
      await limiter.reset('ada')
      if (!rule.countsDenied) await limiter.hit('ada', { cost: rule.limit + 1 })
      expect(await exists()).toBe(0)
      const { resetAfterMs } = await limiter.hit('ada')
      expect(await exists()).toBe(1)
      clock.advance(resetAfterMs)
      await limiter.refund('ada', 1)
      expect(await exists()).toBe(0)
      await limiter.hit('ada')
      await limiter.reset('ada')
      expect(await exists()).toBe(0)
    })
  }

  test('the note of executed commands as well, even if it has lost its expiry', async () => {
    const { limiter, prefix } = limiterOver(fixedWindow({ limit: 5, window: '1m' }))
    await limiter.hit('ada')
    const [note] = await redis.it.keys(`${prefix}:once:*`)
    await redis.it.persist(note)
    await limiter.peek('ada')
    expect(await redis.it.pttl(note)).toBeGreaterThan(0)
  })
})

describe('bytes', () => {
  /** The most bytes that Redis 7.0 may take for a key such as user:42 under the default prefix, with its name and bookkeeping. */
  const MOST_BYTES: readonly (readonly [Rule, number])[] = [
    [fixedWindow({ limit: 100, window: '1m' }), 144],
    [slidingWindow({ limit: 100, window: '1m' }), 160],
    [tokenBucket({ capacity: 100, refill: 10, every: '1s' }), 160],
    [tokenBucket({ capacity: 100, refill: 10, every: '1s', style: 'stepped' }), 176],
  ]
  for (const [rule, most] of MOST_BYTES) {
    test(`a key of ${rule.name} takes at most ${most}`, async () => {
      const keys = new RedisKeys('sluice')
      const limiter = patientLimiter(rule, redisStore(redis.it))
      await limiter.hit('user:42')
      const name = keys.startOf('user:42') + keys.endOf(rule)
      expect(await redis.it.memory('USAGE', name)).toBeLessThanOrEqual(most)
    })
  }

  test('a log has at most an entry for each unit of its limit, and sheds what has passed with every hit', async () => {
    const clock = fakeClock()
    const rule = slidingLog({ limit: 100, window: 1000 })
    const { limiter, nameOf } = limiterOver(rule, { clock })
    const name = nameOf('user:42', rule)
    for (let hit = 0; hit < 150; hit++) {
      await limiter.hit('user:42')
      clock.advance(1)
    }
    expect(await redis.it.llen(name)).toBe(100)
    expect(await redis.it.memory('USAGE', name, 'SAMPLES', 0)).toBeLessThanOrEqual(100 * 32 + 200)
    for (let inc = 0; inc < 50; inc++) {
      await limiter.inc('user:42', 3)
      clock.advance(1)
    }
    expect(await redis.it.llen(name)).toBe(100)
    expect(await limiter.get('user:42')).toBe(250)
    clock.advance(1000 - 40)
    await limiter.hit('user:42', { cost: 1 })
    expect(await redis.it.llen(name)).toBeLessThanOrEqual(41)
  })

  test('many hits in one millisecond are one entry', async () => {
    const clock = fakeClock()
    const rule = slidingLog({ limit: 1000, window: 1000 })
    const { limiter, nameOf } = limiterOver(rule, { clock })
    await Promise.all(Array.from({ length: 500 }, () => limiter.hit('ada')))
    expect(await redis.it.llen(nameOf('ada', rule))).toBe(1)
    expect(await limiter.get('ada')).toBe(500)
  })
})

describe('size', () => {
  for (const [name, connect] of Object.entries(SINGLE)) {
    const connected = clientFor(connect, () => server.it.port)
    test(`counts the states of this prefix alone, through ${name}`, async () => {
      const rules = [fixedWindow({ limit: 5, window: '1m' }), slidingLog({ limit: 5, window: '1m' })]
      const prefix = `${freshPrefix()}[a-z]*?^\\`
      const stores = [prefix, `${prefix}:1`, prefix.replace('*', 'x')].map((each) =>
        redisStore(connected.it.client, { prefix: each }),
      )
      for (const [i, store] of stores.entries()) {
        const limiter = patientLimiter(rules, store)
        await Promise.all(Array.from({ length: 10 * (i + 1) }, (_, j) => limiter.hit(`user ${j}`)))
      }
      expect(await Promise.all(stores.map(({ size }) => size))).toEqual([20, 40, 60])
      expect(await stores[0].clean()).toBe(0)
    })
  }

  test('includes the prefix that the client adds', async () => {
    const client = new Redis(server.it.port, { keyPrefix: 'app*:' })
    const prefix = freshPrefix()
    const store = redisStore(client, { prefix })
    const limiter = patientLimiter(parseRule('5/minute'), store)
    await limiter.hit('ada')
    expect(await store.size).toBe(1)
    expect(await redis.it.keys(`app\\*:${prefix}:1:*`)).toHaveLength(1)
    client.disconnect()
  })

  test('fails if Redis refuses the command', async () => {
    const broken = redisStore(() => Promise.reject(new Error('NOPERM this user has no permissions')))
    await expect(broken.size).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  })

  describe('in a cluster', () => {
    const cluster = realCluster()
    test('is not supported', async () => {
      const client = new Cluster([{ host: '127.0.0.1', port: cluster.it.nodes[0].port }])
      await expect(redisStore(client).size).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
      client.disconnect()
    })
  })
})

async function timeOf(client: Redis): Promise<number> {
  const [seconds, micros] = await client.time()
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
}
