// Real time: Redis' clock decides, also if the clocks of the processes are wrong.

import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Decision } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { everyRule } from '../../src/testing/index.ts'
import type { MethodCall } from '../processes/asked-process.ts'
import { expectRefusal, expectSharedWindows, HOUR_MS, SKEWS_MS } from '../processes/skewed-calendars.ts'
import { limiterProcesses } from './limiter-processes.ts'
import { beforeTests, freshPrefix, patientLimiter, realRedis } from './real-redis.ts'

const server = realRedis()
const redis = beforeTests(
  async () => new Redis(server.it.port),
  (client) => client.disconnect(),
)
const processes = limiterProcesses(() => server.it.port, SKEWS_MS)

async function redisNowMs(): Promise<number> {
  const [seconds, micros] = await redis.it.time()
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
}

const WINDOW_MS = 600

const rules: readonly RuleSpec[] = [
  { algorithm: 'fixed-window', limit: 6, window: WINDOW_MS },
  { algorithm: 'fixed-window', limit: 6, window: WINDOW_MS, anchor: 'clock' },
  { algorithm: 'sliding-log', limit: 6, window: WINDOW_MS },
  { algorithm: 'sliding-window', limit: 6, window: WINDOW_MS },
  { algorithm: 'sliding-window', limit: 6, window: WINDOW_MS, anchor: 'clock' },
  { algorithm: 'token-bucket', capacity: 6, refill: 6, every: WINDOW_MS },
  { algorithm: 'token-bucket', capacity: 6, refill: 6, every: WINDOW_MS, style: 'stepped' },
  { algorithm: 'leaky-bucket', capacity: 6, leak: 6, every: WINDOW_MS },
]

test('the processes disagree about the time by two hours', async () => {
  const replies = await Promise.all(processes.it.map((each) => each.ask({ rules, prefix: freshPrefix(), calls: [] })))
  const [slow, right, fast] = replies.map(({ nowMs }) => nowMs)
  expect(Math.abs(right - slow - HOUR_MS)).toBeLessThan(5000)
  expect(Math.abs(fast - right - HOUR_MS)).toBeLessThan(5000)
})

describe.concurrent('processes whose clocks are an hour slow, right, and an hour fast', () => {
  for (const rule of rules) {
    const { algorithm, ...numbers } = rule
    test(`see the same state of ${algorithm} ${JSON.stringify(numbers)}`, async () => {
      let prefix = ''
      const ask = async (process: number, ...calls: [string, ...unknown[]][]) =>
        (await processes.it[process].ask({ rules: [rule], prefix, calls })).answers

      // Starts with a window on the clock. Repeated if the window ended before all processes were asked, on a busy machine.
      let startMs = 0
      const spent = []
      const asked = []
      do {
        prefix = freshPrefix()
        spent.length = asked.length = 0
        await pause(WINDOW_MS - ((await redisNowMs()) % WINDOW_MS))
        startMs = await redisNowMs()
        for (const process of [0, 1, 2]) spent.push(...(await ask(process, ['hit', 'ada'], ['hit', 'ada'])))
        for (const process of [0, 1, 2]) {
          const beforeMs = await redisNowMs()
          const [denied, endsMs] = await ask(process, ['hit', 'ada', { cost: 6 }], ['expiresAt', 'ada'])
          asked.push({ beforeMs, denied, endsMs, afterMs: await redisNowMs() })
        }
      } while ((await redisNowMs()) >= startMs - (startMs % WINDOW_MS) + WINDOW_MS)

      expect(spent.map(({ allowed }) => allowed)).toEqual(Array(6).fill(true))
      for (const { beforeMs, denied, endsMs, afterMs } of asked) {
        expect(denied.allowed).toBe(false)
        expect(denied.retryAfterMs).toBeLessThanOrEqual(2 * WINDOW_MS)
        // Both times are read from Redis' clock.
        expect(endsMs - denied.resetAfterMs).toBeGreaterThanOrEqual(beforeMs)
        expect(endsMs - denied.resetAfterMs).toBeLessThanOrEqual(afterMs)
      }

      // After the wait that one process returned, another process is allowed.
      const [{ retryAfterMs }] = await ask(0, ['peek', 'ada', { cost: 6 }])
      const inTimeMs = (await redisNowMs()) + retryAfterMs
      await until('the time to come', async () => (await redisNowMs()) >= inTimeMs)
      expect(await ask(2, ['hit', 'ada', { cost: 6 }])).toMatchObject([{ allowed: true, remaining: 0 }])
    })
  }
})

describe('a calendar', () => {
  const skewed = {
    ask: (process: number, rules: readonly RuleSpec[], ...calls: MethodCall[]) =>
      processes.it[process].ask({ rules, prefix: 'calendars', calls }),
    serverNowMs: redisNowMs,
  }
  test('has the same windows for processes whose clocks are an hour wrong', () => expectSharedWindows(skewed))
  test('refuses a process whose clock is days away', () => expectRefusal(skewed))
})

test('the wait holds on Redis’ clock: denied until then, allowed from then on, for every rule', async () => {
  const rules = everyRule().filter(({ windowMs }) => windowMs < 10_000)
  const denials = rules.map(async (rule) => {
    const limiter = patientLimiter(rule, redisStore(redis.it, { prefix: freshPrefix() }))
    // In one turn, so at one time.
    const all = limiter.hit('ada', { cost: rule.limit })
    const [beforeMs, { allowed, retryAfterMs }, afterMs] = await timed(limiter.hit('ada'))
    expect([(await all).allowed, allowed], rule.name).toEqual([true, false])
    for (let denials = 0; ; denials++) {
      const [fromMs, decision, toMs] = await timed(limiter.peek('ada'))
      if (toMs < beforeMs + retryAfterMs) expect(decision.allowed, rule.name).toBe(false)
      if (fromMs >= afterMs + retryAfterMs) expect(decision.allowed, rule.name).toBe(true)
      if (decision.allowed) return denials
    }
  })
  expect(Math.max(...(await Promise.all(denials)))).toBeGreaterThan(10)
})

/** An answer, and Redis' time before and after it. */
async function timed(answer: Promise<Decision>): Promise<[number, Decision, number]> {
  // Commands of one connection are executed in order. Calls of a limiter are sent at the end of the turn.
  const beforeMs = redisNowMs()
  const decision = await answer
  return [await beforeMs, decision, await redisNowMs()]
}
