import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts'
import type { Rule } from '../../core/rule.ts'
import type { Cost } from '../../core/subject.ts'
import { createLimiter } from '../../create-limiter.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { everyRule } from '../../testing/example-rules.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { GateLimiter } from './gate-limiter.ts'
import { refund } from './refund.ts'
import type { Charged } from './request-context.ts'

/** A request that was charged. */
interface Request {
  readonly charged: Charged
  refund(): void
}

function setUp(rules: Rule | readonly Rule[], clock: FakeClock = fakeClock()) {
  const limiter = createLimiter({ rules, store: memoryStore({ clock }) })
  const prepared = new GateLimiter({ limiter, keptIn: limiter, styles: [] })
  const hit = (cost: Cost = 1): Request => {
    const charged: Charged = { limiter: prepared, key: 'ada', cost, hitAtMs: clock.now(), decision: limiter.hit('ada', { cost }) }
    return { charged, refund: () => refund(charged) }
  }
  return { clock, limiter, hit }
}

describe('a charge is given back', () => {
  test.each(everyRule().map((rule) => [rule.name, rule] as const))('%s: at once, as if it had never been taken', (_, rule) => {
    const { limiter, hit, clock } = setUp(rule)
    hit(2)
    clock.advance(3)
    const used = limiter.get('ada')
    hit(3).refund()
    expect(limiter.get('ada')).toBe(used)
  })

  test('not once its window has ended: the next one has not taken it', () => {
    const { limiter, hit, clock } = setUp(fixedWindow({ limit: 5, window: '1m' }))
    const slow = hit()
    clock.advance(59_999)
    const soon = hit()
    clock.advance(1)
    hit(2)
    slow.refund()
    soon.refund()
    expect(limiter.get('ada')).toBe(2)
  })

  test('on the rules under which it still counts, and on no other', () => {
    const minute = fixedWindow({ limit: 50, window: '1m', name: 'minute' })
    const day = fixedWindow({ limit: 50, window: '1d', name: 'day' })
    const { limiter, hit, clock } = setUp([minute, day])
    const slow = hit(4)
    clock.advance(60_000)
    hit(3)
    slow.refund()
    expect([limiter.get('ada', { rule: 'minute' }), limiter.get('ada', { rule: 'day' })]).toEqual([3, 3])
  })

  test('a bucket that has filled up since is not filled further', () => {
    const { limiter, hit, clock } = setUp(tokenBucket({ capacity: 5, refill: 1, every: '1s' }))
    const slow = hit(2)
    clock.advance(2000)
    hit(1)
    slow.refund()
    expect(limiter.get('ada')).toBe(1)
  })

  test('a sliding window that has moved on keeps it', () => {
    const { limiter, hit, clock } = setUp(slidingWindow({ limit: 9, window: '1m', anchor: 'clock' }))
    clock.set(60_000)
    const slow = hit(4)
    clock.advance(90_000)
    hit(3)
    slow.refund()
    expect(limiter.get('ada')).toBe(3 + 2)
  })

  test('by what each rule was charged, in one call; a rule that was not asked gets nothing', () => {
    const { limiter, hit } = setUp(['a', 'b', 'c'].map((name) => fixedWindow({ limit: 50, window: '1m', name })))
    hit(9)
    const calls: unknown[] = []
    const { refund } = limiter
    limiter.refund = (...args) => {
      calls.push(args)
      return refund.apply(limiter, args)
    }
    hit({ a: 4, c: 0 }).refund()
    hit(2).refund()
    expect(['a', 'b', 'c'].map((rule) => limiter.get('ada', { rule }))).toEqual([9, 9, 9])
    expect(calls).toEqual([
      ['ada', { a: 4, b: 1, c: 0 }],
      ['ada', 2],
    ])
  })

  test('not if a fallback has decided: it took nothing from the store', () => {
    const { limiter, hit } = setUp(fixedWindow({ limit: 5, window: '1m' }))
    const { charged } = hit()
    refund({ ...charged, decision: { ...charged.decision, source: 'fallback' } as typeof charged.decision })
    expect(limiter.get('ada')).toBe(1)
  })

  test('and if that fails, nobody else does', () => {
    const { limiter, hit } = setUp(fixedWindow({ limit: 5, window: '1m' }))
    const made = hit()
    limiter.close()
    expect(() => made.refund()).not.toThrow()
  })
})

test('windows on the clock: whatever comes back whenever, what is left is what was charged', () => {
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 400 }),
    cost: fc.integer({ min: 1, max: 3 }),
    /** Number of steps until the response; −1: the request is charged. */
    lasts: fc.integer({ min: -1, max: 5 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = fakeClock()
      const rules = [
        fixedWindow({ limit: 1000, window: 1000, anchor: 'clock', name: 'short' }),
        fixedWindow({ limit: 1000, window: 7000, anchor: 'clock', name: 'long' }),
      ]
      const { limiter, hit } = setUp(rules, clock)
      const charged = setUp(rules, clock)
      const underWay: { readonly made: Request; readonly until: number }[] = []
      for (const [i, { waitMs, cost, lasts }] of steps.entries()) {
        clock.advance(waitMs)
        const made = hit(cost)
        if (lasts < 0) charged.hit(cost)
        else underWay.push({ made, until: i + lasts })
        for (const { made } of underWay.filter(({ until }) => until === i)) made.refund()
      }
      for (const { made } of underWay.filter(({ until }) => until >= steps.length)) made.refund()
      for (const rule of ['short', 'long']) expect(limiter.get('ada', { rule })).toBe(charged.limiter.get('ada', { rule }))
    }),
  )
})
