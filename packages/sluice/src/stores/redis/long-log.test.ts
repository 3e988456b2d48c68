// Sliding logs that are long, or whose sums pass 2^53: no call looks at more than a few of the entries.

import { once } from 'node:events'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { beforeTests, freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import type { Call, Operation } from '../../core/call.ts'
import { createLimiter, slidingLog } from '../../index.ts'
import { definitionStore, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const redis = beforeTests(
  async () => {
    const client = new Redis(server.it.port, '127.0.0.1')
    await once(client, 'ready')
    return client
  },
  (client) => client.disconnect(),
)

const MAX = Number.MAX_SAFE_INTEGER

/** The number of commands on lists that the server has executed. */
async function listCommands(): Promise<number> {
  const stats = await redis.it.info('commandstats')
  const calls = [...stats.matchAll(/^cmdstat_(?:l|r)(?:index|set|len|trim|range|push|pop|insert|rem)[^:]*:calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}

test.each([2_000, 80_000])('a hit on a log of %i entries whose sum passes 2^53 looks at few of them', async (entries) => {
  const prefix = freshPrefix()
  const clock = fakeClock()
  const limiter = patientLimiter(slidingLog({ limit: 100_000, window: '1d' }), redisStore(redis.it, { prefix, clock }))
  await limiter.hit('ada')
  const [name] = await redis.it.keys(`${prefix}:1:*`)
  await redis.it.del(name)
  const startMs = clock.now() - entries
  for (let first = 0; first < entries; first += 1000) {
    const values = Array.from({ length: 1000 }, (_, i) => {
      const sum = MAX - entries + first + i + 1
      return Buffer.from(Float64Array.of(startMs + first + i, 1, sum).buffer)
    })
    await redis.it.rpush(name, ...values)
  }
  expect(await limiter.get('ada')).toBe(entries)
  const before = await listCommands()
  expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 100_000 - entries - 1 })
  expect((await listCommands()) - before).toBeLessThan(60)
  clock.advance(1)
  expect(await limiter.hit('ada', { cost: 5 })).toMatchObject({ remaining: 100_000 - entries - 6 })
  expect(await limiter.refund('ada', 3)).toBe(entries + 3)
})

test('a refund that names an old entry of a long log reads and writes the newer ones in a few commands', async () => {
  const random = seededRandom()
  const clock = fakeClock()
  const rule = slidingLog({ limit: 5000, window: '1d' })
  const real = redisStore(redis.it, { prefix: freshPrefix(), clock }).tally([rule])
  const defined = definitionStore(clock).tally([rule])
  const callOf = (operation: Operation, endsAt?: number): Call => ({
    operation,
    charges: [{ rule: 0, key: 'ada', amount: 2, ...(endsAt !== undefined && { endsAt }) }],
  })
  const times: number[] = []
  for (let entry = 0; entry < 2200; entry++) {
    clock.advance(1)
    times.push(clock.now())
    defined.ask(callOf('inc'))
    await real.ask(callOf('inc'))
  }
  for (const nth of [0, 1, 500, 501, 700, 1699, 1700, 2199, random.whole(0, 2199)]) {
    const where = `SEED=${random.seed}, entry ${nth}`
    const refund = callOf('refund', times[nth] + rule.windowMs)
    const before = await listCommands()
    expect(await real.ask(refund), where).toEqual(defined.ask(refund))
    expect((await listCommands()) - before, where).toBeLessThan(60)
    for (const cost of [1, 600, 3000]) {
      const peek: Call = { operation: 'peek', charges: [{ rule: 0, key: 'ada', amount: cost }] }
      expect(await real.ask(peek), where).toEqual(defined.ask(peek))
    }
  }
})

test('sums that pass 2^53 again and again change no answer', async () => {
  const random = seededRandom()
  const clock = fakeClock()
  const rules = slidingLog({ limit: MAX, window: '1s' })
  const real = patientLimiter(rules, redisStore(redis.it, { prefix: freshPrefix(), clock }))
  const defined = createLimiter({ rules, store: definitionStore(clock) })
  const shown = ({ allowed, remaining, retryAfterMs, resetAfterMs }: Awaited<ReturnType<typeof real.hit>>) => [
    ...[allowed, remaining, retryAfterMs, resetAfterMs],
  ]
  for (let step = 0; step < 1500; step++) {
    const where = `SEED=${random.seed}, step ${step}`
    const cost = random.pick([1, random.whole(1, 2 ** 30), random.whole(1, 2 ** 51), MAX - random.whole(0, 2)])
    const kind = random.whole(0, 9)
    if (kind < 5) expect(shown(await real.hit('ada', { cost })), where).toEqual(shown(defined.hit('ada', { cost })))
    else if (kind < 7) expect(await real.inc('ada', cost), where).toBe(defined.inc('ada', cost))
    else if (kind < 9) expect(await real.refund('ada', cost), where).toBe(defined.refund('ada', cost))
    else expect(shown(await real.peek('ada', { cost })), where).toEqual(shown(defined.peek('ada', { cost })))
    if (random.whole(0, 3) === 0) clock.advance(random.pick([1, 20, 400]))
    if (random.whole(0, 60) === 0) clock.set(clock.now() - random.whole(1, 300))
  }
})
