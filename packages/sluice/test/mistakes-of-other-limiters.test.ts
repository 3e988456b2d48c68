// Mistakes of other limiters. Each test is a case in which Sluice gives the right answer.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { parseRule } from '../src/algorithms/parse-rule.ts'
import { createLimiter, fixedWindow, memoryStore, type Rule, slidingLog, slidingWindow, tokenBucket } from '../src/index.ts'
import { everyRule, fakeClock } from '../src/testing/index.ts'

afterEach(() => vi.useRealTimers())

function limiterOn(rules: Rule | readonly Rule[]) {
  const clock = fakeClock()
  return { clock, limiter: createLimiter({ rules, store: memoryStore({ clock }) }) }
}

test('ten hits under way at once under a limit of five: five pass, whatever is awaited in between', async () => {
  const { limiter } = limiterOn(parseRule('5/minute'))
  const request = async (): Promise<boolean> => {
    const decision = limiter.hit('ada')
    await Promise.resolve()
    return decision.allowed
  }
  const answers = await Promise.all(Array.from({ length: 10 }, request))
  expect(answers).toEqual([true, true, true, true, true, false, false, false, false, false])
})

describe('windows longer than a 32-bit timer limit', () => {
  for (const days of [25, 60, 3650]) {
    for (const make of [fixedWindow, slidingLog, slidingWindow]) {
      test(`${make.name} of ${days} days`, () => {
        const { clock, limiter } = limiterOn(make({ limit: 3, window: `${days}d` }))
        for (let i = 0; i < 3; i++) expect(limiter.hit('ada').allowed).toBe(true)
        clock.advance(24 * 86_400_000)
        expect(limiter.hit('ada').allowed).toBe(false)
      })
    }
  }
})

describe('costs that are no numbers to count with buy nothing', () => {
  for (const cost of [Number.NaN, -1000, -1, 0.5, 0, Number.POSITIVE_INFINITY, '1', 1n, null]) {
    test(`${typeof cost} ${cost}`, () => {
      const { limiter } = limiterOn(parseRule('3/minute'))
      expect(() => limiter.hit('ada', { cost: cost as number })).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
      const passed = Array.from({ length: 1000 }, () => limiter.hit('ada')).filter(({ allowed }) => allowed)
      expect(passed).toHaveLength(3)
    })
  }
})

test('a sub-second window ends', () => {
  const { clock, limiter } = limiterOn(fixedWindow({ limit: 1, window: '250ms' }))
  limiter.hit('ada')
  clock.advance(250)
  expect(limiter.hit('ada').allowed).toBe(true)
})

test('giving back after the window has ended leaves no debt and no credit', () => {
  for (const rule of everyRule()) {
    const { clock, limiter } = limiterOn(rule)
    const { resetAfterMs } = limiter.hit('ada')
    clock.advance(resetAfterMs)
    expect(limiter.refund('ada')).toBe(0)
    expect(limiter.expiresAt('ada')).toBe(0)
    expect(limiter.peek('ada', { cost: rule.limit }).allowed).toBe(true)
    expect(limiter.peek('ada', { cost: rule.limit + 1 }).allowed).toBe(false)
  }
})

test('denied hits are not charged, and of several rules those that would pass are not either', () => {
  const { limiter } = limiterOn([
    fixedWindow({ limit: 2, window: '1s' }),
    fixedWindow({ limit: 100, window: '1d', name: 'daily' }),
  ])
  for (let i = 0; i < 50; i++) limiter.hit('ada')
  expect(limiter.get('ada')).toBe(2)
  expect(limiter.get('ada', { rule: 'daily' })).toBe(2)
})

test('a costly denial does not block cheap hits', () => {
  const { limiter } = limiterOn(parseRule('10/minute'))
  limiter.hit('ada', { cost: 8 })
  expect(limiter.hit('ada', { cost: 5 }).allowed).toBe(false)
  expect(limiter.hit('ada', { cost: 2 }).allowed).toBe(true)
})

test('a flood of other keys does not push out the counter of the one who floods', () => {
  const limiter = createLimiter({ rules: parseRule('5/hour'), store: memoryStore({ maxKeys: 5000 }) })
  for (let i = 0; i < 6; i++) limiter.hit('attacker')
  for (let i = 0; i < 20_000; i++) limiter.hit(`spray:${i}`)
  expect(limiter.hit('attacker').allowed).toBe(false)
})

test('a wait that is obeyed is enough, and a cost that never fits has no wait that ends', () => {
  for (const rule of everyRule()) {
    const { clock, limiter } = limiterOn(rule)
    limiter.hit('ada', { cost: rule.limit })
    const { retryAfterMs } = limiter.hit('ada')
    clock.advance(retryAfterMs)
    expect(limiter.hit('ada').allowed, rule.name).toBe(true)
    expect(limiter.peek('ada', { cost: rule.limit + 1 }).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
  }
})

test('a clock stepped back an hour does not turn a second into an hour', () => {
  for (const rule of everyRule()) {
    const { clock, limiter } = limiterOn(rule)
    limiter.hit('ada', { cost: rule.limit })
    const wait = limiter.hit('ada').retryAfterMs
    clock.set(clock.now() - 3_600_000)
    const denied = limiter.hit('ada')
    expect(denied.allowed, rule.name).toBe(false)
    expect(denied.retryAfterMs, rule.name).toBeLessThanOrEqual(Math.max(wait, 2 * rule.windowMs))
    clock.advance(denied.retryAfterMs)
    expect(limiter.hit('ada').allowed, rule.name).toBe(true)
  }
})

test('a key costs no timer', () => {
  vi.useFakeTimers()
  const limiter = createLimiter({ rules: [parseRule('5/minute'), parseRule('sliding-log 9/hour')] })
  for (let i = 0; i < 1000; i++) limiter.hit(`user:${i}`)
  expect(vi.getTimerCount()).toBe(1)
  limiter.close()
  expect(vi.getTimerCount()).toBe(0)
})

test('rule and key cannot run into each other', () => {
  const store = memoryStore()
  const named = (name: string) => createLimiter({ rules: fixedWindow({ limit: 9, window: '1m', name }), store })
  named('a_b').hit('c')
  named('a:b').hit('c')
  expect(named('a').get('b_c')).toBe(0)
  expect(named('a').get('b:c')).toBe(0)
  expect(named('a_b').get('c')).toBe(1)
})

test('a rate that divides nothing never drifts', () => {
  const { clock, limiter } = limiterOn(tokenBucket({ capacity: 1, refill: 7, every: '1s' }))
  const start = clock.now()
  let passed = 0
  while (clock.now() < start + 70_000) {
    if (limiter.hit('ada').allowed) passed += 1
    clock.advance(1)
  }
  // 7 a second for 70 s and the one that the bucket held; a hit each millisecond can be up to one late each time.
  expect(passed).toBeGreaterThanOrEqual(486)
  expect(passed).toBeLessThanOrEqual(491)
  clock.set(start)
})

test('a limit that changes keeps what was used', () => {
  const store = memoryStore()
  const plan = (limit: number) => createLimiter({ rules: fixedWindow({ limit, window: '1h', name: 'plan' }), store })
  plan(10).hit('ada', { cost: 8 })
  expect(plan(100).hit('ada').remaining).toBe(91)
  expect(plan(5).hit('ada').allowed).toBe(false)
})
