import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { type Model, walkModel } from '../../../test/model-walk.ts'
import {
  anyLimit,
  anyWindowMs,
  aroundNewOptions,
  keepsItsPromises,
  leavesNoTraceOfDeniedHits,
  runs,
  TEN_YEARS_MS,
  withstandsStepsBack,
} from '../../../test/rule-promises.ts'
import { mostLetThrough } from '../../../test/worst-case.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { Random } from '../../testing/random.ts'
import { type FixedWindowOptions, fixedWindow } from './fixed-window.ts'

const MAX = Number.MAX_SAFE_INTEGER

/** A counted hit, with the end of its window. */
interface Counted {
  readonly cost: number
  readonly endMs: number
}

/** The list of every hit that counts. */
function modelOf(options: FixedWindowOptions & { readonly window: number }): Model<readonly Counted[]> {
  const { limit, window, anchor, countDenied = false, elastic = false } = options
  const sum = (hits: readonly Counted[]): number => hits.reduce((total, { cost }) => total + cost, 0)
  /** The end of a window that opens now: on the clock, the first multiple of `window` after now. */
  const endOfNew = (nowMs: number): number => (anchor === 'clock' ? (Math.floor(nowMs / window) + 1) * window : nowMs + window)
  return {
    limit,
    countsDenied: countDenied || elastic,
    fresh: [],
    settle: (hits, nowMs) =>
      hits
        .filter(({ endMs }) => nowMs < endMs)
        // A window never ends more than one window from now, also after a step of the clock.
        .map(({ cost, endMs }) => ({ cost, endMs: Math.min(endMs, nowMs + window) })),
    used: sum,
    allows: (hits, _, cost) => sum(hits) + cost <= limit,
    isNew: (hits) => hits.length === 0,
    spend(hits, nowMs, cost) {
      const endMs = hits.length === 0 || elastic ? endOfNew(nowMs) : hits[0].endMs
      return [...hits, { cost, endMs }].map((hit) => ({ ...hit, endMs }))
    },
    put(hits, nowMs, used) {
      const keepsBoundary = anchor === 'clock' && hits.length > 0
      return [{ cost: used, endMs: keepsBoundary ? hits[0].endMs : endOfNew(nowMs) }]
    },
    // A refund is a hit with a negative cost, if there is anything to give back.
    refund: (hits, _, cost) => (hits.length === 0 ? hits : [...hits, { cost: -Math.min(cost, sum(hits)), endMs: hits[0].endMs }]),
  }
}

type Form = Omit<FixedWindowOptions, 'limit' | 'window'>

const FORMS: readonly (readonly [string, Form])[] = [
  ['from the first hit', {}],
  ['on the clock', { anchor: 'clock' }],
  ['counting denied hits', { countDenied: true }],
  ['counting denied hits, on the clock', { anchor: 'clock', countDenied: true }],
  ['elastic', { elastic: true }],
]

describe.each(FORMS)('fixedWindow %s', (_, form) => {
  const draw = (limits: readonly [number, number], windows: readonly [number, number]) => (random: Random) => {
    const options = { ...form, limit: random.whole(...limits), window: random.whole(...windows) }
    return { rule: fixedWindow(options), model: modelOf(options) }
  }
  const rules = fc.record({ limit: anyLimit, window: anyWindowMs }).map((numbers) => fixedWindow({ ...form, ...numbers }))

  test('answers as the list of all counted hits does', () => walkModel(draw([1, 12], [1, 50]), { rules: 70 }))
  test('answers as the list does when the clock steps back too', () =>
    walkModel(draw([1, 12], [1, 50]), { stepsBack: true, rules: 70 }))
  test('answers as the list does with windows of years and limits of billions', () =>
    walkModel(draw([1, 2 ** 33], [1, TEN_YEARS_MS]), { stepsBack: true, waits: 'edges', rules: 30 }))

  keepsItsPromises(rules)
  if (!form.countDenied && !form.elastic) leavesNoTraceOfDeniedHits(rules)
  withstandsStepsBack(rules, ({ windowMs }) => windowMs)
})

describe('the most that a fixed window lets through in any stretch as long as a window', () => {
  const numbers = [1, 2, 3].flatMap((limit) => [2, 3, 5].map((window) => ({ limit, window })))
  const most = (options: FixedWindowOptions & { readonly window: number }): number =>
    mostLetThrough(fixedWindow(options), options.window, 3 * options.window)

  test.each(numbers)('is twice the limit on the clock: $limit per $window ms', ({ limit, window }) => {
    expect(most({ limit, window, anchor: 'clock' })).toBe(2 * limit)
    expect(most({ limit, window, anchor: 'clock', countDenied: true })).toBe(2 * limit)
  })

  test.each(numbers)('is one less from the first hit, which is spent on opening the window: $limit per $window ms', (of) => {
    expect(most(of)).toBe(2 * of.limit - 1)
    expect(most({ ...of, countDenied: true })).toBe(2 * of.limit - 1)
  })

  test.each(numbers)('is the limit itself where every hit restarts the window: $limit per $window ms', (of) => {
    expect(most({ ...of, elastic: true })).toBe(of.limit)
  })

  test('passes within two milliseconds around a boundary', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 100, window: '1m', anchor: 'clock' }), fakeClock(60_000 - 1))
    expect(limiter.hit('k', { cost: 100 }).allowed).toBe(true)
    clock.advance(1)
    expect(limiter.hit('k', { cost: 100 }).allowed).toBe(true)
  })

  test('is never more than twice the limit, whatever the numbers and the traffic', () => {
    const hits = fc.array(fc.record({ pause: fc.integer({ min: 0, max: 9 }), cost: fc.integer({ min: 1, max: 9 }) }), {
      maxLength: 60,
    })
    const anchor = fc.constantFrom('first-hit' as const, 'clock' as const)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 30 }),
        anchor,
        hits,
        (limit, window, anchor, hits) => {
          const { limiter, clock } = definedLimiter(fixedWindow({ limit, window, anchor }))
          const passed: { readonly atMs: number; readonly cost: number }[] = []
          for (const { pause, cost } of hits) {
            clock.advance(pause)
            if (limiter.hit('k', { cost }).allowed) passed.push({ atMs: clock.now(), cost })
          }
          for (const { atMs: fromMs } of passed) {
            const within = passed.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + window)
            expect(within.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(2 * limit)
          }
        },
      ),
      runs(200),
    )
  })
})

describe('fixedWindow, in known numbers', () => {
  test('a window of one millisecond ends with it', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 1, window: 1 }))
    expect(limiter.hit('k').allowed).toBe(true)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('a window of ten years limits for ten years', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 1, window: '3650d' }))
    limiter.hit('k')
    clock.advance(TEN_YEARS_MS - 1)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('the largest limit there is counts to the last unit', () => {
    const { limiter } = definedLimiter(fixedWindow({ limit: MAX, window: '1h' }))
    expect(limiter.hit('k', { cost: MAX - 1 })).toMatchObject({ allowed: true, remaining: 1 })
    expect(limiter.hit('k', { cost: 2 }).allowed).toBe(false)
    expect(limiter.hit('k', { cost: 1 })).toMatchObject({ allowed: true, remaining: 0 })
    expect(limiter.hit('k', { cost: 1 }).allowed).toBe(false)
  })

  test('a limit of 2^31 is no smaller than it says', () => {
    const { limiter } = definedLimiter(fixedWindow({ limit: 2 ** 31, window: '1h' }))
    expect(limiter.hit('k', { cost: 2 ** 31 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('the count stops at 2^53 − 1 instead of losing exactness', () => {
    const { limiter } = definedLimiter(fixedWindow({ limit: 3, window: '1h', countDenied: true }))
    expect(limiter.inc('k', MAX)).toBe(MAX)
    expect(limiter.inc('k', MAX)).toBe(MAX)
    limiter.hit('k', { cost: MAX })
    expect(limiter.get('k')).toBe(MAX)
    expect(limiter.refund('k', MAX - 1)).toBe(1)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -0])('a count of %s cannot be set', (used) => {
    const { limiter } = definedLimiter(fixedWindow({ limit: 3, window: '1h' }))
    limiter.hit('k')
    expect(() => limiter.set('k', used)).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
    expect(limiter.get('k')).toBe(1)
  })

  test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5'])('a limit of %s is refused', (limit) => {
    expect(() => fixedWindow({ limit: limit as number, window: '1m' })).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })

  test.each([0, -1, 0.5, Number.NaN, 2 ** 47 + 1, '1y', '1.5s', 's', ''])('a window of %j is refused', (window) => {
    expect(() => fixedWindow({ limit: 1, window: window as number })).toThrow(expect.objectContaining({ code: 'ERR_DURATION' }))
  })

  test('a window on the clock cannot be elastic', () => {
    expect(() => fixedWindow({ limit: 1, window: 1, anchor: 'clock', elastic: true })).toThrow(
      expect.objectContaining({ code: 'ERR_RULE' }),
    )
  })

  test.each([{ anchor: 'hit' }, { countDenied: 'yes' }, { elastic: 1 }, { name: '' }, { name: 'x'.repeat(257) }])(
    'the option %j is refused',
    (option) => {
      const options = { limit: 1, window: 1, ...option } as unknown as FixedWindowOptions
      expect(() => fixedWindow(options)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
    },
  )

  test('the error about an unknown option lists the known ones', () => {
    const options = { limit: 1, window: 1, countdenied: true } as unknown as FixedWindowOptions
    expect(() => fixedWindow(options)).toThrow(/countDenied/)
  })
})

describe('a hit that is over the limit by itself', () => {
  test('stores nothing', () => {
    const { limiter } = definedLimiter(fixedWindow({ limit: 3, window: '1m' }))
    expect(limiter.hit('k', { cost: 4 })).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, remaining: 3 })
    expect(limiter.expiresAt('k')).toBe(0)
  })

  test('opens the window where denied hits count', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 3, window: '1m', countDenied: true }))
    expect(limiter.hit('k', { cost: 4 })).toMatchObject({ allowed: false, remaining: 0 })
    expect(limiter.expiresAt('k')).toBe(clock.now() + 60_000)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    expect(limiter.get('k')).toBe(5)
  })
})

describe('a clock that steps back', () => {
  test('makes nobody wait longer than a window, from the next hit on', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 1, window: '1s' }))
    limiter.hit('k')
    clock.set(clock.now() - 3_600_000)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    clock.advance(999)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('does not make a peek write', () => {
    const { limiter, clock } = definedLimiter(fixedWindow({ limit: 1, window: '1s' }))
    limiter.hit('k')
    clock.set(clock.now() - 10_000)
    expect([limiter.peek('k').retryAfterMs, limiter.get('k'), limiter.expiresAt('k')]).toEqual([1000, 1, clock.now() + 1000])
    clock.advance(500)
    expect(limiter.peek('k').retryAfterMs).toBe(1000)
  })
})

describe('new options of a named rule', () => {
  test('keep what was used and make exact waits, whatever they are', () => {
    const anchor = fc.constantFrom('first-hit' as const, 'clock' as const)
    const rules = fc.record({ limit: anyLimit, window: anyWindowMs, anchor }).map((of) => fixedWindow({ ...of, name: 'api' }))
    aroundNewOptions(rules, (before, after) => expect(after).toBe(before))
  })

  test('keep what was used when the limit changes', () => {
    const { limiter, withRule } = definedLimiter(fixedWindow({ limit: 10, window: '1m', name: 'api' }))
    limiter.hit('k', { cost: 6 })
    expect(withRule(fixedWindow({ limit: 100, window: '1m', name: 'api' })).peek('k').remaining).toBe(94)
    expect(withRule(fixedWindow({ limit: 5, window: '1m', name: 'api' })).hit('k')).toMatchObject({
      allowed: false,
      remaining: 0,
    })
  })

  test('keep what was used for one new window at most when the window gets shorter', () => {
    const { limiter, withRule } = definedLimiter(fixedWindow({ limit: 5, window: '1h', name: 'api' }))
    limiter.hit('k', { cost: 5 })
    const shorter = withRule(fixedWindow({ limit: 5, window: '1s', name: 'api' }))
    expect(shorter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
  })

  test('keep what was used until the old window ends when it gets longer', () => {
    const { limiter, clock, withRule } = definedLimiter(fixedWindow({ limit: 5, window: '1s', name: 'api' }))
    limiter.hit('k', { cost: 5 })
    const longer = withRule(fixedWindow({ limit: 5, window: '1h', name: 'api' }))
    expect(longer.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    clock.advance(1000)
    expect(longer.hit('k').resetAfterMs).toBe(3_600_000)
  })

  test('start from nothing under another name', () => {
    const { limiter, withRule } = definedLimiter(fixedWindow({ limit: 5, window: '1m' }))
    limiter.hit('k', { cost: 5 })
    expect(withRule(fixedWindow({ limit: 6, window: '1m' })).get('k')).toBe(0)
  })
})
