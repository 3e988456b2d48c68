// A rolling upgrade: processes of an earlier version and of this one work on the same keys at the same time. No count is lost, in
// either direction, and no key ends before its state.
// earlier-program.lua is the whole program of that version. It took its arguments as JSON, without the rate of a meter.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { type Call, FIGURES, type Figures } from '../../src/core/call.ts'
import type { Rule } from '../../src/core/rule.ts'
import { tokenBucket } from '../../src/index.ts'
import { ALGORITHMS } from '../../src/stores/redis/program.ts'
import { RedisKeys } from '../../src/stores/redis/redis-keys.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { definitionStore, everyRule, fakeClock } from '../../src/testing/index.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { beforeTests, freshPrefix, realRedis } from './real-redis.ts'

const EARLIER = readFileSync(new URL('earlier-program.lua', import.meta.url), 'utf8')
const EARLIER_SHA1 = createHash('sha1').update(EARLIER).digest('hex')

const server = realRedis()
const redis = beforeTests(
  async () => {
    const client = new Redis(server.it.port, '127.0.0.1')
    await client.script('LOAD', EARLIER)
    return client
  },
  (client) => client.disconnect(),
)

/** The rules that the earlier version has. */
const RULES = everyRule().filter(({ algorithm }) => algorithm !== 'calendar-window')

function earlierArguments({ algorithm, parameters }: Rule): unknown[] {
  const names = ALGORITHMS[algorithm].parameters.filter((name) => name !== 'rate')
  return [algorithm, ...names.map((name) => parameters[name])]
}

/** Returns a function that decides calls as a process of the earlier version does. `now` is undefined for Redis' own clock. */
function earlierTally(rules: readonly Rule[], prefix: string, now?: () => number) {
  const keys = new RedisKeys(prefix)
  return async ({ operation, charges }: Call): Promise<Figures> => {
    const names = charges.map(({ key, rule }) => keys.startOf(key) + keys.endOf(rules[rule]))
    const amounts = charges.map(({ amount }) => amount)
    const request = {
      sets: [charges.map(({ rule }) => earlierArguments(rules[rule]))],
      runs: [operation, 1, charges.length === 1 ? amounts[0] : amounts, 1],
      ...(now && { now: now() }),
    }
    const reply = await redis.it.call('evalsha', EARLIER_SHA1, names.length, ...names, JSON.stringify(request))
    const figures = JSON.parse(reply as string) as number[]
    return figures.map((figure) => (figure === -1 ? Number.POSITIVE_INFINITY : figure))
  }
}

function randomCall(rules: readonly Rule[], random: Random): Call {
  const operation = random.pick(['hit', 'hit', 'hit', 'hit', 'peek', 'inc', 'refund', 'get'] as const)
  const only = random.whole(0, rules.length - 1)
  const isOne = operation === 'inc' || operation === 'get'
  const chosen = isOne ? [only] : [...rules.keys()].filter((rule) => rule === only || random.whole(0, 2) === 0)
  const key = random.pick(['ada', 'bob'])
  return { operation, charges: chosen.map((rule) => ({ rule, key, amount: random.pick([1, 1, 1, random.whole(1, 4)]) })) }
}

/** Each call goes to one of the two versions. Every answer must be the one of the definition. */
async function walk(rules: readonly Rule[], steps: number): Promise<void> {
  const random = seededRandom()
  const clock = fakeClock()
  const prefix = freshPrefix()
  const earlier = earlierTally(rules, prefix, () => clock.now())
  const present = redisStore(redis.it, { clock, prefix }).tally(rules)
  const defined = definitionStore(clock).tally(rules)
  for (let step = 0; step < steps; step++) {
    clock.set(clock.now() + random.pick([0, 0, 1, 5, 40, 300, random.whole(0, 30) === 0 ? random.whole(-900, 1500) : 2]))
    const call = randomCall(rules, random)
    const version = random.pick(['earlier', 'present'])
    const answer = version === 'earlier' ? earlier(call) : present.ask(call)
    expect(await answer, `SEED=${random.seed}, step ${step}, ${version}: ${JSON.stringify(call)}`).toEqual(defined.ask(call))
  }
}

describe('both versions at once decide as one', () => {
  for (const rule of RULES) test(rule.name, () => walk([rule], 500))
  test('every rule, in calls on several of them', () => walk(RULES, 500))
})

/** Time for which a key outlives its state at least. */
const GRACE_MS = 1000
/** The key of a meter may live longer, by this or by a quarter of the time from the start of its tick. */
const METER_STEP_MS = 512
/** Redis reads its clock several times in a command. */
const CLOCK_STEP_MS = 50

/** Each hit on these moves the end by seconds, so the steps of their expiries are long. */
const SLOW_METERS = [
  tokenBucket({ capacity: 200, refill: 1, every: '2s', name: 'slow' }),
  tokenBucket({ capacity: 200, refill: 3, every: '7s', name: 'slow and stepped', style: 'stepped' }),
]

describe('on the clock of Redis, no key ends before its state', () => {
  for (const rule of [...RULES, ...SLOW_METERS]) {
    test(rule.name, async () => {
      const random = seededRandom()
      const prefix = freshPrefix()
      const keys = new RedisKeys(prefix)
      const name = keys.startOf('ada') + keys.endOf(rule)
      const earlier = earlierTally([rule], prefix)
      const present = redisStore(redis.it, { prefix }).tally([rule])
      const isMeter = rule.algorithm.endsWith('meter')
      for (let step = 0; step < 300; step++) {
        const version = random.pick(['earlier', 'present', 'present', 'present'])
        const charges = [{ rule: 0, key: 'ada', amount: random.pick([1, 1, 1, 20]) }]
        if (random.whole(0, 9) === 0) await present.ask({ operation: 'refund', charges })
        // Steps become longer while the debt grows from nothing.
        if (step % 20 === 0) await present.ask({ operation: 'reset', charges })
        const call = { operation: 'hit', charges } as const
        const startMs = performance.now()
        const figures = await (version === 'earlier' ? earlier(call) : present.ask(call))
        const where = `SEED=${random.seed}, step ${step}, ${version}`
        const endsAfterMs = figures[FIGURES - 1]
        const ttlMs = await redis.it.pttl(name)
        const passedMs = performance.now() - startMs
        if (endsAfterMs > 0) expect(ttlMs - endsAfterMs + passedMs, where).toBeGreaterThanOrEqual(GRACE_MS - CLOCK_STEP_MS)
        const mostMs = GRACE_MS + (isMeter ? Math.max(METER_STEP_MS, endsAfterMs / 3) : 0)
        expect(ttlMs - endsAfterMs, where).toBeLessThanOrEqual(mostMs + CLOCK_STEP_MS)
      }
    })
  }
})
