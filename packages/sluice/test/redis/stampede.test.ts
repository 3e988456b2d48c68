// Four processes hit the same key at once: exactly the limit passes.

import { describe, expect, test } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { limiterProcesses } from './limiter-processes.ts'
import { freshPrefix, realRedis } from './real-redis.ts'

const server = realRedis()
const processes = limiterProcesses(() => server.it.port, [0, 0, 0, 0])

const HITS_EACH = 500
const HOUR_MS = 3_600_000

/** Every rule with a limit of 1,000, of which nothing comes back while the test runs. */
const rules: Readonly<Record<string, RuleSpec>> = {
  'fixed window': { algorithm: 'fixed-window', limit: 1000, window: HOUR_MS },
  'fixed window that counts denied hits': { algorithm: 'fixed-window', limit: 1000, window: HOUR_MS, countDenied: true },
  'elastic fixed window': { algorithm: 'fixed-window', limit: 1000, window: HOUR_MS, elastic: true },
  'sliding log': { algorithm: 'sliding-log', limit: 1000, window: HOUR_MS },
  'sliding window': { algorithm: 'sliding-window', limit: 1000, window: HOUR_MS },
  'sliding window without rounding': { algorithm: 'sliding-window', limit: 1000, window: HOUR_MS, round: 'none' },
  'token bucket': { algorithm: 'token-bucket', capacity: 1000, refill: 1, every: HOUR_MS },
  'token bucket in steps': { algorithm: 'token-bucket', capacity: 1000, refill: 1, every: HOUR_MS, style: 'stepped' },
  gcra: { algorithm: 'gcra', limit: 1, period: HOUR_MS, burst: 1000 },
  'leaky bucket': { algorithm: 'leaky-bucket', capacity: 1000, leak: 1, every: HOUR_MS },
}

/** Every process makes the calls at once, in many commands. Returns all results. */
async function stampede(rules: readonly RuleSpec[], prefix: string, calls: readonly (readonly [string, ...unknown[]])[]) {
  const replies = await Promise.all(processes.it.map((each) => each.ask({ rules, prefix, batch: 10, calls })))
  return replies.flatMap(({ answers }) => answers)
}

async function used(rules: readonly RuleSpec[], prefix: string): Promise<readonly number[]> {
  const { answers } = await processes.it[0].ask({ rules, prefix, calls: [['peek', 'ada', { cost: 0 }]] })
  return answers[0].rules.map(({ limit, remaining }) => limit - remaining)
}

describe('of 2,000 hits from four processes at once, exactly 1,000 pass', () => {
  for (const [name, rule] of Object.entries(rules)) {
    test(name, async () => {
      const decisions = await stampede([rule], freshPrefix(), Array(HITS_EACH).fill(['hit', 'ada']))
      expect(decisions).toHaveLength(4 * HITS_EACH)
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1000)
    })
  }

  test('and as much as passes of hits of different costs', async () => {
    const prefix = freshPrefix()
    const calls = Array.from({ length: HITS_EACH }, (_, i) => ['hit', 'ada', { cost: 1 + (i % 3) }] as const)
    const decisions = await stampede([rules['sliding log']], prefix, calls)
    const spent = decisions.reduce((sum, { allowed }, i) => sum + (allowed ? 1 + ((i % HITS_EACH) % 3) : 0), 0)
    // The last units may be too few for any of the hits that are left, but for those of cost 1.
    expect(spent).toBe(1000)
    expect(await used([rules['sliding log']], prefix)).toEqual([1000])
  })
})

test('over several rules the tightest decides, and no rule is charged for a denied hit', async () => {
  const several: readonly RuleSpec[] = [
    { algorithm: 'fixed-window', limit: 1500, window: HOUR_MS },
    { algorithm: 'sliding-log', limit: 600, window: HOUR_MS },
    { algorithm: 'sliding-window', limit: 1200, window: HOUR_MS },
    { algorithm: 'token-bucket', capacity: 800, refill: 1, every: HOUR_MS },
  ]
  const prefix = freshPrefix()
  const decisions = await stampede(several, prefix, Array(HITS_EACH).fill(['hit', 'ada']))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(600)
  expect(await used(several, prefix)).toEqual([600, 600, 600, 600])
})
