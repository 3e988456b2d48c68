import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { promiseStore } from '../../test/promise-store.ts'
import { createLimiter, type Decision, decide, fixedWindow, type LimiterOptions, memoryStore, tokenBucket } from '../index.ts'
import { everyRule, failingStore, fakeClock } from '../testing/index.ts'

const MONTH_MS = 30 * 86_400_000
const HOUR_MS = 3_600_000

const monthly = fixedWindow({ limit: 2, window: '30d', name: 'monthly' })
const burst = tokenBucket({ capacity: 5, refill: 1, every: '1s', name: 'burst' })

describe('without retryWithinMs', () => {
  test('only a cost above the limit is not retryable; an allowed decision is', () => {
    const limiter = createLimiter({ rules: monthly })
    expect(limiter.hit('ada', { cost: 2 }).retryable).toBe(true)
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, retryable: true })
    expect(limiter.hit('ada', { cost: 3 })).toMatchObject({ allowed: false, retryable: false, retryAfterMs: Infinity })
    expect(limiter.peek('ada', { cost: 3 }).retryable).toBe(false)
    expectTypeOf<Decision['retryable']>().toEqualTypeOf<boolean>()
  })

  test('one rule that never lets the cost pass is enough', () => {
    const limiter = createLimiter({ rules: [monthly, burst] })
    expect(limiter.hit('ada', { cost: 3 })).toMatchObject({ retryable: false, rule: 'monthly' })
    expect(limiter.hit('ada', { cost: { monthly: 0, burst: 6 } })).toMatchObject({ retryable: false, rule: 'burst' })
    expect(limiter.hit('ada', { cost: { monthly: 0, burst: 5 } }).retryable).toBe(true)
  })

  test('an allowed hit has no property of its own for it', () => {
    const limiter = createLimiter({ rules: monthly, retryWithinMs: HOUR_MS })
    const plain = ['allowed', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'rule']
    expect(Object.keys(limiter.hit('ada'))).toEqual(plain)
    expect(Object.keys(createLimiter({ rules: monthly }).hit('ada'))).toEqual(plain)
  })

  test('JSON has it', () => {
    const shown = (decision: Decision) => JSON.parse(JSON.stringify(decision))
    expect(shown(decide([monthly], [1, 0, 1000]))).toMatchObject({ allowed: true, retryable: true })
    expect(shown(decide([monthly], [1, Infinity, 1000]))).toMatchObject({ retryable: false, retryAfterMs: null })
  })
})

describe('retryWithinMs', () => {
  /** A limiter with a spent month, `beforeEndMs` before its end. */
  function spent(beforeEndMs: number, options: Omit<LimiterOptions<'sync'>, 'rules' | 'store'>) {
    const clock = fakeClock()
    const limiter = createLimiter({ rules: monthly, store: memoryStore({ clock }), ...options })
    limiter.hit('ada', { cost: 2 })
    clock.advance(MONTH_MS - beforeEndMs)
    return limiter
  }

  test.each([
    [HOUR_MS - 1, true],
    [HOUR_MS, true],
    [HOUR_MS + 1, false],
    [MONTH_MS, false],
  ])('of an hour: a denial that lasts %i ms is retryable: %s', (leftMs, retryable) => {
    const limiter = spent(leftMs, { retryWithinMs: HOUR_MS })
    const expected = { allowed: false, retryable, retryAfterMs: leftMs, rule: 'monthly', remaining: 0, source: 'store' }
    expect(limiter.hit('ada')).toMatchObject(expected)
    expect(limiter.hit('ada', { cost: 1 })).toMatchObject(expected)
    expect(limiter.peek('ada')).toMatchObject(expected)
    expect(limiter.hit('ada').rules).toMatchObject([{ name: 'monthly', retryAfterMs: leftMs }])
    expect(limiter.hit('ada', { cost: 3 })).toMatchObject({ retryable: false, retryAfterMs: Infinity })
    expect(limiter.hit('bob')).toMatchObject({ allowed: true, retryable: true })
  })

  test('of 0: no denial is retryable; not given, or as long as can be: every one that ends', () => {
    expect(spent(1, { retryWithinMs: 0 }).hit('ada').retryable).toBe(false)
    for (const retryWithinMs of [undefined, Number.MAX_SAFE_INTEGER]) {
      expect(spent(MONTH_MS, { retryWithinMs }).hit('ada').retryable).toBe(true)
      expect(spent(MONTH_MS, { retryWithinMs }).hit('ada', { cost: 3 }).retryable).toBe(false)
    }
  })

  test('concerns the longest wait of the rules that deny', () => {
    const limiter = createLimiter({ rules: [burst, monthly], retryWithinMs: HOUR_MS })
    limiter.hit('ada', { cost: { burst: 5, monthly: 1 } })
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, retryable: true, rule: 'burst' })
    limiter.set('ada', 2, { rule: 'monthly' })
    const denial = limiter.hit('ada')
    expect(denial).toMatchObject({ allowed: false, retryable: false, rule: 'monthly' })
    expect(denial.rules.map(({ name }) => name)).toEqual(['burst', 'monthly'])
    expect(JSON.parse(JSON.stringify(denial))).toMatchObject({ retryable: false, rules: [{ name: 'burst' }, {}] })
    expect(limiter.hit('ada', { cost: { monthly: 0 } })).toMatchObject({ retryable: true, rule: 'burst' })
  })

  test('holds for rules with per, and on a store that answers with promises', async () => {
    const perUser = fixedWindow({ limit: 1, window: '30d', per: 'user' })
    const named = createLimiter({ rules: perUser, retryWithinMs: HOUR_MS })
    expect(named.hit({ user: 'ada' }).retryable).toBe(true)
    expect(named.hit({ user: 'ada' }).retryable).toBe(false)
    const later = createLimiter({ rules: monthly, store: promiseStore(fakeClock()), retryWithinMs: HOUR_MS })
    expect((await later.hit('ada', { cost: 2 })).retryable).toBe(true)
    expect((await later.hit('ada')).retryable).toBe(false)
    expect((await later.peek('ada')).retryable).toBe(false)
  })

  test('changes nothing else: every rule, random costs and times, with it and without it', () => {
    const hits = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 40 }), elapsedMs: fc.nat(5000) }), { maxLength: 30 })
    const rules = [...everyRule()]
    fc.assert(
      fc.property(hits, fc.nat(20_000), fc.subarray(rules, { minLength: 1, maxLength: 3 }), (hits, retryWithinMs, rules) => {
        const clock = fakeClock()
        const limited = createLimiter({ rules, store: memoryStore({ clock }), retryWithinMs })
        const plain = createLimiter({ rules, store: memoryStore({ clock }) })
        for (const { cost, elapsedMs } of hits) {
          clock.advance(elapsedMs)
          const expected = plain.hit('ada', { cost })
          const decision = limited.hit('ada', { cost })
          const { retryAfterMs } = expected
          expect(decision.retryable).toBe(retryAfterMs < Infinity && retryAfterMs <= retryWithinMs)
          const asText = JSON.stringify({ ...JSON.parse(JSON.stringify(decision)), retryable: expected.retryable })
          expect(asText).toBe(JSON.stringify(expected))
        }
      }),
    )
  })

  test.each([-1, 0.5, Number.NaN, Infinity, '1h', null, 2 ** 53, {}, true, 1n])('%s is refused', (retryWithinMs) => {
    expect(() => createLimiter({ rules: monthly, retryWithinMs: retryWithinMs as number })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option: 'retryWithinMs', value: retryWithinMs }),
    )
  })

  test('a closed limiter fails, and decides nothing', () => {
    const limiter = spent(MONTH_MS, { retryWithinMs: HOUR_MS })
    limiter.close()
    expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED', transient: false }))
  })
})

describe('without the store', () => {
  const fallback = (then: 'local' | 'allow' | 'deny', retryWithinMs: number) => {
    const store = failingStore(fakeClock())
    store.plan = 'fatal'
    return createLimiter({ rules: monthly, store, failure: { then, probeEveryMs: 500 }, retryWithinMs })
  }

  test("under 'deny' every denial is retryable, because the store may be back soon", async () => {
    for (const retryWithinMs of [0, 499, HOUR_MS]) {
      const limiter = fallback('deny', retryWithinMs)
      for (const cost of [1, 3]) {
        const denial = await limiter.hit('ada', { cost })
        expect(denial).toMatchObject({ allowed: false, retryable: true, retryAfterMs: 500, failure: { then: 'deny' } })
      }
    }
  })

  test("under 'local' the stand-in counts, and its denials are judged like the store's", async () => {
    const limiter = fallback('local', HOUR_MS)
    expect(await limiter.hit('ada', { cost: 2 })).toMatchObject({ allowed: true, retryable: true, source: 'fallback' })
    const failure = { reason: 'fatal', then: 'local' }
    expect(await limiter.hit('ada')).toMatchObject({ allowed: false, retryable: false, source: 'fallback', failure })
    expect(JSON.parse(JSON.stringify(await limiter.hit('ada')))).toMatchObject({ retryable: false, failure })
    expect(await limiter.hit('ada', { cost: 3 })).toMatchObject({ retryable: false, retryAfterMs: Infinity })
  })

  test("under 'allow' every decision is allowed, and so retryable", async () => {
    expect(await fallback('allow', 0).hit('ada', { cost: 3 })).toMatchObject({ allowed: true, retryable: true })
  })
})
