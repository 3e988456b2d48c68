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
import { failingStore } from '../../testing/failing-store.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { GateLimiter } from '../gate/gate-limiter.ts'
import type { Charged } from '../gate/request-context.ts'
import { refund } from './refund.ts'

/** A request that was charged. */
interface Request {
  readonly charged: Charged
  refund(): void
}

function setUp(rules: Rule | readonly Rule[], clock: FakeClock = fakeClock()) {
  const limiter = createLimiter({ rules, store: memoryStore({ clock }) })
  const prepared = new GateLimiter({ limiter, keptIn: limiter, styles: [] })
  const hit = (cost: Cost = 1): Request => {
    const charged: Charged = {
      request: {},
      limiter: prepared,
      key: 'ada',
      cost,
      hitAtMs: clock.now(),
      decision: limiter.hit('ada', { cost }),
    }
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
      ['ada', { a: 4, b: 1, c: 0 }, { source: 'store' }],
      ['ada', 2, { source: 'store' }],
    ])
  })

  test('and if that fails, nobody else does', () => {
    const { limiter, hit } = setUp(fixedWindow({ limit: 5, window: '1m' }))
    const made = hit()
    limiter.close()
    expect(() => made.refund()).not.toThrow()
  })
})

describe('over a store that fails', () => {
  const FAILURE = { failures: 1, probeEveryMs: 1000 } as const

  /** Counts in the store and in the stand-in are read without the limiter. */
  function failing(then: 'local' | 'allow') {
    const clock = fakeClock()
    const store = failingStore(clock)
    const standIn = memoryStore({ clock })
    const rules = fixedWindow({ limit: 9, window: '1m' })
    const failure = { ...FAILURE, then, ...(then === 'local' && { standIn }) }
    const limiter = createLimiter({ rules, store, failure })
    const reader = createLimiter({ rules, store, failure: { failures: 1000 } })
    const local = createLimiter({ rules, store: standIn })
    const prepared = new GateLimiter({ limiter, keptIn: limiter, styles: [] })
    const hit = async (): Promise<Charged> => {
      const hitAtMs = clock.now()
      return { request: {}, limiter: prepared, key: 'ada', cost: undefined, hitAtMs, decision: await limiter.hit('ada') }
    }
    const counts = async () => {
      store.plan = 'answer'
      return { store: await reader.get('ada'), local: local.get('ada') }
    }
    const refunds = () => store.calls.filter(({ call }) => call?.operation === 'refund').length
    return { clock, store, limiter, hit, counts, refunds, local }
  }

  const settled = () => new Promise(setImmediate)

  test('a charge of the stand-in goes back to the stand-in, and the store is not asked', async () => {
    const { store, hit, counts, refunds, limiter } = failing('local')
    await hit()
    store.plan = 'lose-call'
    await hit()
    const second = await hit()
    const { failures } = limiter
    refund(second)
    await settled()
    expect(limiter.failures).toEqual(failures)
    expect(refunds()).toBe(0)
    expect(await counts()).toEqual({ store: 1, local: 1 })
  })

  test('also after the store is back, where it was never charged', async () => {
    const { clock, store, hit, counts } = failing('local')
    store.plan = 'lose-call'
    const first = await hit()
    await hit()
    store.plan = 'answer'
    clock.advance(1000)
    expect((await hit()).decision.source).toBe('store')
    refund(first)
    await settled()
    expect(await counts()).toEqual({ store: 1, local: 1 })
  })

  test('a charge of the store stays if the store fails: units of the stand-in belong to others', async () => {
    const { store, hit, counts, limiter } = failing('local')
    const first = await hit()
    store.plan = 'lose-call'
    expect((await hit()).decision.source).toBe('fallback')
    refund(first)
    await settled()
    expect(limiter.failures['not-asked']).toBe(1)
    expect(await counts()).toEqual({ store: 1, local: 1 })
  })

  test('not in the stand-in once its window has ended', async () => {
    const { clock, store, hit, local } = failing('local')
    store.plan = 'lose-call'
    const slow = await hit()
    clock.advance(60_000)
    await hit()
    refund(slow)
    await settled()
    expect(local.get('ada')).toBe(1)
  })

  test("nothing under 'allow': nobody was charged", async () => {
    const { store, hit, counts, refunds } = failing('allow')
    await hit()
    store.plan = 'lose-call'
    const uncounted = await hit()
    store.plan = 'answer'
    refund(uncounted)
    await settled()
    expect(refunds()).toBe(0)
    expect(await counts()).toEqual({ store: 1, local: 0 })
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
