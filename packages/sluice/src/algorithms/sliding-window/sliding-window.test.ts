import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { type Model, walkModel } from '../../../test/model-walk.ts'
import {
  anyWindowMs,
  aroundNewOptions,
  aroundStepBack,
  expectNoQuotaFreed,
  keepsItsPromises,
  leavesNoTraceOfDeniedHits,
  runs,
  TEN_YEARS_MS,
  withstandsStepsBack,
} from '../../../test/rule-promises.ts'
import { mostLetThrough } from '../../../test/worst-case.ts'
import type { Rule } from '../../core/rule.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { Random } from '../../testing/random.ts'
import { type SlidingWindowOptions, slidingWindow } from './sliding-window.ts'

const MAX = Number.MAX_SAFE_INTEGER

type Numbers = SlidingWindowOptions & { readonly window: number }

/** The units spent in each window, by its start, and the start of the current window at the last settling. */
interface Counts {
  readonly startMs: number
  readonly spent: ReadonlyMap<number, number>
}

function modelOf({ limit, window, anchor, round }: Numbers): Model<Counts> {
  const startOfNew = (nowMs: number): number => (anchor === 'clock' ? Math.floor(nowMs / window) * window : nowMs)
  /** A window's count stops here, so that count × window and the sum of two counts stay below 2^53. */
  const most = Math.floor(MAX / Math.max(2, window))
  const current = ({ spent, startMs }: Counts): bigint => BigInt(spent.get(startMs) ?? 0)
  const previous = ({ spent, startMs }: Counts): bigint => BigInt(spent.get(startMs - window) ?? 0)
  const fresh: Counts = { startMs: 0, spent: new Map() }
  /** Returns the weight of the previous window, as a numerator over `window`: its count by the share of it that is still in view. */
  const weight = (counts: Counts, nowMs: number): bigint => previous(counts) * BigInt(window - (nowMs - counts.startMs))
  const forgetIfNothing = (counts: Counts): Counts => (current(counts) + previous(counts) === 0n ? fresh : counts)
  return {
    limit,
    fresh,
    settle(counts, nowMs) {
      if (counts.spent.size === 0) return fresh
      let { startMs } = counts
      if (startMs > nowMs) {
        // The clock stepped back. From the first hit: the counts stay, as if their window had just begun.
        startMs = startOfNew(nowMs)
        const [now, before] = [Number(current(counts)), Number(previous(counts))]
        if (anchor === 'first-hit')
          return {
            startMs,
            spent: new Map([
              [startMs, now],
              [startMs - window, before],
            ]),
          }
        // On the clock: all counts are moved to the window that contains `nowMs`.
        return { startMs, spent: new Map([[startMs, Math.min(now + before, most)]]) }
      }
      while (startMs + window <= nowMs) startMs += window
      return forgetIfNothing({ startMs, spent: counts.spent })
    },
    used(counts, nowMs) {
      const whole = weight(counts, nowMs) / BigInt(window)
      const fraction = weight(counts, nowMs) % BigInt(window)
      return Number(current(counts) + whole) + (round === 'none' && fraction > 0n ? 1 : 0)
    },
    allows(counts, nowMs, cost) {
      const wanted = current(counts) + BigInt(cost)
      if (round === 'none') return weight(counts, nowMs) + wanted * BigInt(window) <= BigInt(limit) * BigInt(window)
      return weight(counts, nowMs) / BigInt(window) + wanted <= BigInt(limit)
    },
    isNew: ({ spent }) => spent.size === 0,
    spend(counts, nowMs, cost) {
      const startMs = counts.spent.size === 0 ? startOfNew(nowMs) : counts.startMs
      return { startMs, spent: new Map(counts.spent).set(startMs, Math.min((counts.spent.get(startMs) ?? 0) + cost, most)) }
    },
    put: (_, nowMs, used) => forgetIfNothing({ startMs: startOfNew(nowMs), spent: new Map([[startOfNew(nowMs), used]]) }),
    // This window's units come back first, then the previous one's.
    refund(counts, _, cost) {
      const { startMs } = counts
      let [now, before] = [Number(current(counts)), Number(previous(counts))]
      for (let unit = 0; unit < cost; unit++) {
        if (now > 0) now--
        else if (before > 0) before--
      }
      return forgetIfNothing({
        startMs,
        spent: new Map([
          [startMs, now],
          [startMs - window, before],
        ]),
      })
    },
  }
}

type Form = Required<Pick<SlidingWindowOptions, 'anchor' | 'round'>>

const FORMS: readonly Form[] = [
  { anchor: 'first-hit', round: 'down' },
  { anchor: 'clock', round: 'down' },
  { anchor: 'first-hit', round: 'none' },
  { anchor: 'clock', round: 'none' },
]

/** Limits whose product with the window stays below 2^53. */
const numbers = fc
  .record({ window: anyWindowMs, limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 ** 31 })) })
  .map(({ window, limit }) => ({ window, limit: Math.min(limit, Math.floor(MAX / window) - 1) }))

describe.each(FORMS)('slidingWindow, anchor $anchor, round $round', (form) => {
  const draw = (limits: readonly [number, number], windows: readonly [number, number]) => (random: Random) => {
    const options = { ...form, limit: random.whole(...limits), window: random.whole(...windows) }
    return { rule: slidingWindow(options), model: modelOf(options) }
  }
  const rules = numbers.map((of) => slidingWindow({ ...form, ...of }))

  test('answers as exact fractions over a count of each window do', () => walkModel(draw([1, 12], [1, 50]), { rules: 70 }))
  test('answers as they do where many units share a millisecond', () => walkModel(draw([10, 80], [1, 12]), { rules: 40 }))
  test('answers as they do when the clock steps back too', () =>
    walkModel(draw([1, 12], [1, 50]), { stepsBack: true, rules: 70 }))
  test('answers as they do with windows of years', () =>
    walkModel(draw([1, 25_000], [TEN_YEARS_MS / 2, TEN_YEARS_MS]), { stepsBack: true, waits: 'edges', rules: 20 }))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  if (form.anchor === 'first-hit') withstandsStepsBack(rules, ({ windowMs }) => 2 * windowMs)
})

describe('when the clock steps back', () => {
  describe.each(['down', 'none'] as const)('with windows on the clock, round %s', (round) => {
    const rules = numbers.map((of) => slidingWindow({ ...of, round, anchor: 'clock' }))

    test('no wait gets longer than two windows', () => {
      aroundStepBack(rules, (rule, _, { limiter }) => {
        for (const cost of [1, rule.limit]) {
          expect(limiter.peek('k', { cost }).retryAfterMs).toBeLessThanOrEqual(2 * rule.windowMs)
        }
        expect(limiter.peek('k').resetAfterMs).toBeLessThanOrEqual(2 * rule.windowMs)
      })
    })

    test('no quota is freed', () => aroundStepBack(rules, expectNoQuotaFreed))
  })

  test('over a boundary of the clock, by one millisecond, no quota is freed', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 10, window: 1000, anchor: 'clock' }), fakeClock(1999))
    expect(limiter.hit('k', { cost: 10 }).allowed).toBe(true)
    clock.set(2000)
    expect(limiter.hit('k').allowed).toBe(false)
    clock.set(1999)
    expect(limiter.hit('k', { cost: 10 }).allowed).toBe(false)
  })

  test('the counts stay, in a window that starts now', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 10, window: 1000 }))
    limiter.hit('k', { cost: 10 })
    clock.set(clock.now() - 3_600_000)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1001, resetAfterMs: 2000 })
  })
})

describe('the most that a sliding window lets through in any stretch as long as a window', () => {
  // The worst case is a burst at the very end of a window, and single hits through the next window, while the burst moves out of
  // view. Traffic can reach it if twice the limit is less than the window in milliseconds.
  const sparse = [1, 2, 3].map((limit) => ({ limit, window: 2 * limit + 1 }))
  const most = (options: Numbers): number => mostLetThrough(slidingWindow(options), options.window, 3 * options.window)

  test.each(sparse)('is twice the limit, rounding down: $limit per $window ms', (of) => {
    expect(most({ ...of, anchor: 'clock' })).toBe(2 * of.limit)
    expect(most({ ...of, anchor: 'first-hit' })).toBe(2 * of.limit)
  })

  test.each(sparse)('is one less on the clock without rounding: $limit per $window ms', (of) => {
    expect(most({ ...of, anchor: 'clock', round: 'none' })).toBe(2 * of.limit - 1)
  })

  test.each(sparse)('is two less from the first hit without rounding, and the limit at least: $limit per $window ms', (of) => {
    expect(most({ ...of, anchor: 'first-hit', round: 'none' })).toBe(Math.max(of.limit, 2 * of.limit - 2))
  })

  test('is no more than the limit and its share of all but two milliseconds in a shorter stretch', () => {
    for (const { limit, window } of sparse) {
      for (const form of FORMS) {
        for (let ms = 2; ms <= window; ms++) {
          const most = mostLetThrough(slidingWindow({ limit, window, ...form }), ms, 3 * window)
          expect(most).toBeLessThanOrEqual(limit + Math.ceil((limit * (ms - 2)) / window))
        }
      }
    }
  })

  test('is never more than twice the limit, also where many units share a millisecond', () => {
    for (const limit of [1, 2, 4]) {
      for (const window of [1, 2, 3, 4]) {
        for (const form of FORMS) expect(most({ limit, window, ...form })).toBeLessThanOrEqual(2 * limit)
      }
    }
  })

  test('is reached by one early hit, a burst at the end of the second window and a trickle through the third', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 100, window: 1000 }))
    limiter.hit('k')
    clock.advance(1999)
    let passed = 0
    for (let ms = 0; ms < 1000; ms++) {
      while (limiter.hit('k').allowed) passed++
      if (ms === 0) expect(passed).toBe(100)
      clock.advance(1)
    }
    expect(passed).toBe(200)
  })

  test('is the burst and the share of the time since in any shorter stretch after it', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 100, window: 1000, anchor: 'clock' }), fakeClock(1999))
    limiter.hit('k', { cost: 100 })
    clock.advance(1)
    expect(limiter.peek('k').remaining).toBe(0)
    clock.advance(101)
    expect(limiter.peek('k').remaining).toBe(11)
  })

  test('is never more than twice the limit, whatever the numbers and the traffic', () => {
    const hits = fc.array(fc.record({ pause: fc.integer({ min: 0, max: 9 }), cost: fc.integer({ min: 1, max: 9 }) }), {
      maxLength: 60,
    })
    const form = fc.constantFrom(...FORMS)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 30 }), form, hits, (limit, window, form, hits) => {
        const { limiter, clock } = definedLimiter(slidingWindow({ limit, window, ...form }))
        const passed: { readonly atMs: number; readonly cost: number }[] = []
        for (const { pause, cost } of hits) {
          clock.advance(pause)
          if (limiter.hit('k', { cost }).allowed) passed.push({ atMs: clock.now(), cost })
        }
        for (const { atMs: fromMs } of passed) {
          const within = passed.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + window)
          expect(within.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(2 * limit)
        }
      }),
      runs(200),
    )
  })

  test('over many windows is the limit for each and one more limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...FORMS),
        (limit, window, form) => {
          const { limiter, clock } = definedLimiter(slidingWindow({ limit, window, ...form }))
          let passed = 0
          for (let ms = 0; ms < 10 * window; ms++) {
            while (limiter.hit('k').allowed) passed++
            clock.advance(1)
          }
          expect(passed).toBeLessThanOrEqual(11 * limit)
        },
      ),
      runs(40),
    )
  })
})

describe('slidingWindow, in known numbers', () => {
  test('the wait for one unit in the next window is the time until the old count weighs one less', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 10, window: 1000 }))
    limiter.hit('k', { cost: 10 })
    // Rounded down, ten units weigh nine as soon as one millisecond of their window is out of view.
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1001 })
    clock.advance(1001)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('without rounding it is the time until a whole unit is out of view', () => {
    const { limiter } = definedLimiter(slidingWindow({ limit: 10, window: 1000, round: 'none' }))
    limiter.hit('k', { cost: 10 })
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1100 })
  })

  test('without rounding a limit of one is one hit every two windows', () => {
    const { limiter } = definedLimiter(slidingWindow({ limit: 1, window: 1000, round: 'none' }))
    limiter.hit('k')
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 2000 })
  })

  test('windows tile from the first hit, and anew once a whole window has passed without one', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 10, window: 1000 }), fakeClock(5300))
    limiter.hit('k', { cost: 4 })
    expect(limiter.expiresAt('k')).toBe(7300)
    clock.set(6299)
    expect(limiter.get('k')).toBe(4)
    clock.set(6800)
    expect(limiter.get('k')).toBe(2)
    clock.set(7300)
    expect(limiter.expiresAt('k')).toBe(0)
    clock.set(7777)
    limiter.hit('k')
    expect(limiter.expiresAt('k')).toBe(9777)
  })

  test('a window of one millisecond remembers the millisecond before', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 2, window: 1 }))
    expect(limiter.hit('k', { cost: 2 })).toMatchObject({ allowed: true, resetAfterMs: 2 })
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 2 })
    clock.advance(1)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('a window of ten years moves by the millisecond', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 1000, window: '3650d' }))
    limiter.hit('k', { cost: 1000 })
    expect(limiter.hit('k').retryAfterMs).toBe(TEN_YEARS_MS + 1)
    clock.advance(TEN_YEARS_MS)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  describe.each([1, 2, 1000, 60_000, 86_400_000, TEN_YEARS_MS])('with a window of %d ms', (window) => {
    const largest = Math.floor(MAX / Math.max(2, window)) - 1

    test('a limit whose product with the window could pass 2^53 is refused', () => {
      for (const limit of [largest + 1, largest + 2, MAX]) {
        expect(() => slidingWindow({ limit, window })).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
      }
    })

    test.each(FORMS)('the largest limit is exact to the last unit: $anchor, $round', (form) => {
      const model = modelOf({ limit: largest, window, ...form })
      const { limiter, clock } = definedLimiter(slidingWindow({ limit: largest, window, ...form }), fakeClock(window * 3))
      limiter.hit('k', { cost: largest })
      const state = model.spend(model.fresh, clock.now(), largest)
      for (const elapsed of [0, 1, Math.floor(window / 3), Math.floor(window / 2), window - 1].filter((ms) => ms < window)) {
        clock.set(window * 4 + elapsed)
        const settled = model.settle(state, clock.now())
        expect(limiter.get('k')).toBe(model.used(settled, clock.now()))
        for (const cost of [1, 2, Math.ceil(largest / 2), largest]) {
          expect(limiter.peek('k', { cost }).allowed).toBe(model.allows(settled, clock.now(), cost))
          const { retryAfterMs } = limiter.peek('k', { cost })
          const atMs = clock.now() + retryAfterMs
          expect(model.allows(model.settle(state, atMs), atMs, cost)).toBe(true)
          if (retryAfterMs > 0) expect(model.allows(model.settle(state, atMs - 1), atMs - 1, cost)).toBe(false)
        }
      }
    })
  })

  test('the count stops where its product with the window would pass 2^53', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 5, window: 1000 }))
    const most = Math.floor(MAX / 1000)
    expect(limiter.inc('k', MAX)).toBe(most)
    expect(limiter.inc('k')).toBe(most)
    clock.advance(1500)
    expect(limiter.get('k')).toBe(Math.floor(most / 2))
    expect(limiter.peek('k', { cost: 5 }).retryAfterMs).toBe(500)
  })

  test('the largest count can be set, and none above it', () => {
    const { limiter } = definedLimiter(slidingWindow({ limit: 5, window: 1000 }))
    const most = Math.floor(MAX / 1000)
    expect(limiter.set('k', most)).toBe(most)
    for (const used of [most + 1, -1, 0.5, Number.NaN]) {
      expect(() => limiter.set('k', used)).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
    }
    expect(limiter.get('k')).toBe(most)
  })

  test('the counts of two full windows stay below 2^53', () => {
    const { limiter, clock } = definedLimiter(slidingWindow({ limit: 5, window: 1 }))
    limiter.inc('k', MAX)
    clock.advance(1)
    expect(limiter.inc('k', MAX)).toBeLessThanOrEqual(MAX)
  })

  test.each([{ limit: 0 }, { limit: 0.5 }, { anchor: 'hit' }, { round: 'up' }, { name: 7 }])('%j is refused', (option) => {
    const options = { limit: 1, window: 1, ...option } as unknown as Numbers
    expect(() => slidingWindow(options)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })
})

describe('new options of a named rule', () => {
  test('keep at least what was used and make exact waits, whatever they are', () => {
    const rules = fc
      .record({ of: numbers, form: fc.constantFrom(...FORMS) })
      .map(({ of, form }) => slidingWindow({ ...of, ...form, name: 'api' }))
    const roundsDown = (rule: Rule): boolean => (rule as Rule & { round: string }).round === 'down'
    aroundNewOptions(rules, (before, after, from, to) => {
      // A rule that rounds down counts one unit less than a rule that counts a fraction as a whole unit.
      const rounded = roundsDown(to) && !roundsDown(from) ? 1 : 0
      expect(after).toBeGreaterThanOrEqual(Math.min(before, to.mostUsed) - rounded)
    })
  })

  test('keep what was used when the limit changes', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingWindow({ limit: 10, window: 1000, name: 'api' }))
    limiter.hit('k', { cost: 8 })
    clock.advance(1500)
    limiter.hit('k', { cost: 2 })
    expect(withRule(slidingWindow({ limit: 100, window: 1000, name: 'api' })).peek('k').remaining).toBe(94)
    expect(withRule(slidingWindow({ limit: 5, window: 1000, name: 'api' })).hit('k')).toMatchObject({
      allowed: false,
      remaining: 0,
    })
  })

  test('keep what was used when the window gets longer', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingWindow({ limit: 10, window: 1000, name: 'api' }))
    limiter.hit('k', { cost: 8 })
    clock.advance(900)
    expect(withRule(slidingWindow({ limit: 10, window: '1m', name: 'api' })).get('k')).toBe(8)
  })

  test('count nothing that the old window has forgotten', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingWindow({ limit: 10, window: 1000, name: 'api' }))
    limiter.hit('k', { cost: 8 })
    clock.advance(2000)
    const longer = withRule(slidingWindow({ limit: 10, window: '1m', name: 'api' }))
    expect([longer.get('k'), longer.expiresAt('k')]).toEqual([0, 0])
  })

  test('count what the old window counts now, also once it has become the previous one', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingWindow({ limit: 10, window: 1000, name: 'api' }))
    limiter.hit('k', { cost: 8 })
    clock.advance(1500)
    expect(limiter.get('k')).toBe(4)
    expect(withRule(slidingWindow({ limit: 10, window: '1m', name: 'api' })).get('k')).toBe(4)
  })

  test('count no more than their product with the new window allows below 2^53', () => {
    const { limiter, withRule } = definedLimiter(slidingWindow({ limit: 10, window: 1000, name: 'api' }))
    limiter.inc('k', MAX)
    expect(withRule(slidingWindow({ limit: 10, window: '1h', name: 'api' })).get('k')).toBe(Math.floor(MAX / 3_600_000))
  })

  test('keep what was just used when the window gets shorter', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingWindow({ limit: 10, window: '1h', name: 'api' }))
    limiter.hit('k')
    clock.advance(30 * 60_000)
    limiter.hit('k', { cost: 9 })
    expect(withRule(slidingWindow({ limit: 10, window: '1m', name: 'api' })).get('k')).toBeGreaterThanOrEqual(9)
  })
})
