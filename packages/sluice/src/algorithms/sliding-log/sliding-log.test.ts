import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { type Model, type WalkOptions, walkModel } from '../../../test/model-walk.ts'
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
import type { Random } from '../../testing/random.ts'
import { slidingLog } from './sliding-log.ts'

const MAX = Number.MAX_SAFE_INTEGER

interface Numbers {
  readonly limit: number
  readonly window: number
}

/** The time of every single unit that was spent, oldest first. */
function modelOf({ limit, window }: Numbers): Model<readonly number[]> {
  return {
    limit,
    fresh: [],
    // The clock stepped back: units spent after now count as spent now.
    settle: (units, nowMs) => units.filter((atMs) => nowMs - atMs < window).map((atMs) => Math.min(atMs, nowMs)),
    used: (units) => units.length,
    allows: (units, _, cost) => units.length + cost <= limit,
    isNew: (units) => units.length === 0,
    spend: (units, nowMs, cost) => [...units, ...Array<number>(cost).fill(nowMs)],
    put: (_, nowMs, used) => Array<number>(used).fill(nowMs),
    refund: (units, _, cost) => units.slice(0, Math.max(0, units.length - cost)),
  }
}

/** The same with at most `limit` different times: the oldest units count as spent at the next time. */
function boundedModelOf(numbers: Numbers): Model<readonly number[]> {
  const model = modelOf(numbers)
  return {
    ...model,
    spend(units, nowMs, cost) {
      const spent = model.spend(units, nowMs, cost)
      const times = [...new Set(spent)]
      return times.length <= numbers.limit ? spent : spent.map((atMs) => Math.max(atMs, times[1]))
    },
  }
}

describe('slidingLog', () => {
  const draw = (make: (numbers: Numbers) => Model<readonly number[]>, mostMs: number) => (random: Random) => {
    const numbers = { limit: random.whole(1, 12), window: random.whole(1, mostMs) }
    return { rule: slidingLog(numbers), model: make(numbers) }
  }
  const numbers = fc.record({ limit: anyLimit, window: anyWindowMs })
  const rules = numbers.map(slidingLog)

  test('answers as the list of every unit does', () => walkModel(draw(boundedModelOf, 60)))
  test('answers as the list does when the clock steps back too', () => walkModel(draw(boundedModelOf, 60), { stepsBack: true }))
  test('answers as the list does with windows of years', () =>
    walkModel(draw(boundedModelOf, TEN_YEARS_MS), { stepsBack: true, waits: 'edges', rules: 50 }))

  // The bound on a log shows only in the count past the limit, and in results that depend on that count: a refund, a cost of 0.
  const decisions: WalkOptions = { calls: ['peek', 'inc', 'expiresAt', 'reset'], mayDiffer: ['inc'] }
  test('decides as if its log had no bound, also past the limit', () => walkModel(draw(modelOf, 60), decisions))
  test('decides as if its log had no bound when the clock steps back too', () =>
    walkModel(draw(modelOf, 60), { ...decisions, stepsBack: true }))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  withstandsStepsBack(rules, ({ windowMs }) => windowMs)

  test('lets the limit through, and never more, in any stretch as long as the window', () => {
    for (const limit of [1, 2, 3]) {
      for (const window of [1, 2, 4]) expect(mostLetThrough(slidingLog({ limit, window }), window, 2 * window)).toBe(limit)
    }
  })

  test('lets never more than the limit through in any stretch, whatever the traffic', () => {
    const hits = fc.array(fc.record({ pause: fc.integer({ min: 0, max: 9 }), cost: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 80,
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 60 }), hits, (limit, window, hits) => {
        const { limiter, clock } = definedLimiter(slidingLog({ limit, window }))
        const passed: { readonly atMs: number; readonly cost: number }[] = []
        for (const { pause, cost } of hits) {
          clock.advance(pause)
          if (limiter.hit('k', { cost }).allowed) passed.push({ atMs: clock.now(), cost })
        }
        for (const { atMs: fromMs } of passed) {
          const within = passed.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + window)
          expect(within.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(limit)
        }
      }),
      runs(200),
    )
  })
})

describe('slidingLog, in known numbers', () => {
  test('lets a unit go exactly one window after it was spent', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 3, window: 1000 }))
    limiter.hit('k', { cost: 2 })
    clock.advance(400)
    limiter.hit('k')
    clock.advance(599)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    expect(limiter.hit('k', { cost: 3 })).toMatchObject({ allowed: false, retryAfterMs: 401 })
    clock.advance(1)
    expect(limiter.hit('k', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('a window of one millisecond ends with it', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 1, window: 1 }))
    expect([limiter.hit('k').allowed, limiter.hit('k').retryAfterMs]).toEqual([true, 1])
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('a window of ten years limits for ten years', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 1, window: '3650d' }))
    limiter.hit('k')
    clock.advance(TEN_YEARS_MS - 1)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('the largest limit there is counts to the last unit', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: MAX, window: '1h' }))
    limiter.hit('k', { cost: MAX - 2 })
    clock.advance(1)
    expect(limiter.hit('k', { cost: 1 })).toMatchObject({ allowed: true, remaining: 1 })
    expect(limiter.hit('k', { cost: 2 })).toMatchObject({ allowed: false, retryAfterMs: 3_599_999 })
    expect(limiter.hit('k', { cost: 1 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('the count stops at 2^53 − 1 instead of losing exactness', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 3, window: 1000 }))
    expect(limiter.inc('k', MAX - 1)).toBe(MAX - 1)
    clock.advance(1)
    expect(limiter.inc('k', MAX)).toBe(MAX)
    expect(limiter.inc('k', 1)).toBe(MAX)
    expect(limiter.peek('k').retryAfterMs).toBe(1000 - 1)
    clock.advance(999)
    expect(limiter.get('k')).toBe(1)
  })

  test.each([-1, 0.5, Number.NaN, 2 ** 53])('a count of %s cannot be set', (used) => {
    const { limiter } = definedLimiter(slidingLog({ limit: 3, window: '1h' }))
    expect(() => limiter.set('k', used)).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
  })

  test.each([0, -1, 0.5, Number.NaN, 2 ** 53])('a limit of %s is refused', (limit) => {
    expect(() => slidingLog({ limit, window: '1m' })).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })

  test('an unknown option is refused', () => {
    const options = { limit: 1, window: 1, anchor: 'clock' } as unknown as Numbers
    expect(() => slidingLog(options)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  })
})

describe('the log of one key', () => {
  const entriesOf = (limit: number, window: number, spends: number, limitThen = limit): number => {
    let rule = slidingLog({ limit, window })
    let cells = new Float64Array(rule.width)
    let widest = 0
    for (let nowMs = 1; nowMs <= spends; nowMs++) {
      if (nowMs === limit + 1) rule = slidingLog({ limit: limitThen, window })
      const wider = new Float64Array(rule.log?.widthToSpend(cells, 0) ?? 0)
      rule.log?.move(cells, 0, wider, 0, wider.length)
      cells = wider
      rule.settle(cells, 0, nowMs)
      rule.spend(cells, 0, nowMs, 1)
      widest = Math.max(widest, ((rule.log?.widthToSpend(cells, 0) ?? 0) - rule.width) / 2 - 1)
    }
    return widest
  }

  test('never has more entries than the limit, however often inc() goes past it', () => {
    expect(entriesOf(5, 1000, 500)).toBe(5)
    expect(entriesOf(1, 1000, 500)).toBe(1)
  })

  test('has one entry for all that is spent in one millisecond', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 100, window: 1000 }))
    for (let i = 0; i < 50; i++) limiter.hit('k')
    clock.advance(999)
    expect(limiter.get('k')).toBe(50)
    clock.advance(1)
    expect(limiter.get('k')).toBe(0)
  })

  test('does not grow past the entries it had when the limit gets lower', () => {
    expect(entriesOf(5, 1000, 500, 3)).toBe(5)
  })
})

describe('a clock that steps back', () => {
  test('makes what was spent later count as spent now', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 2, window: 1000 }))
    limiter.hit('k')
    clock.advance(500)
    limiter.hit('k')
    clock.set(clock.now() - 3_600_000)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    clock.advance(999)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.get('k')).toBe(0)
  })

  test('leaves what was spent before alone', () => {
    const { limiter, clock } = definedLimiter(slidingLog({ limit: 2, window: 1000 }))
    limiter.hit('k')
    clock.advance(500)
    limiter.hit('k')
    clock.set(clock.now() - 100)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 600 })
    expect(limiter.hit('k', { cost: 2 })).toMatchObject({ allowed: false, retryAfterMs: 1000 })
  })
})

describe('new options of a named rule', () => {
  test('keep what is still in the window and make exact waits, whatever they are', () => {
    const rules = fc.record({ limit: anyLimit, window: anyWindowMs }).map((of) => slidingLog({ ...of, name: 'api' }))
    aroundNewOptions(rules, (before, after, from, to) => {
      if (to.windowMs >= from.windowMs) expect(after).toBeGreaterThanOrEqual(before)
      else expect(after).toBeLessThanOrEqual(before)
    })
  })

  test('keep what was used when the limit changes', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingLog({ limit: 10, window: 1000, name: 'api' }))
    limiter.hit('k', { cost: 4 })
    clock.advance(100)
    limiter.hit('k', { cost: 2 })
    expect(withRule(slidingLog({ limit: 100, window: 1000, name: 'api' })).peek('k').remaining).toBe(94)
    const lower = withRule(slidingLog({ limit: 5, window: 1000, name: 'api' }))
    expect(lower.hit('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 900 })
  })

  test('apply a new window to what was spent when it was spent', () => {
    const { limiter, clock, withRule } = definedLimiter(slidingLog({ limit: 2, window: '1h', name: 'api' }))
    limiter.hit('k')
    clock.advance(5000)
    limiter.hit('k')
    expect(withRule(slidingLog({ limit: 2, window: '4s', name: 'api' })).get('k')).toBe(1)
    expect(withRule(slidingLog({ limit: 2, window: '1d', name: 'api' })).peek('k').retryAfterMs).toBe(86_400_000 - 5000)
  })
})

describe('a log of a million entries', () => {
  const WINDOW_MS = 2 ** 21
  const ENTRIES = 2 ** 20
  const rule = slidingLog({ limit: ENTRIES, window: WINDOW_MS })
  const { log } = rule
  if (log === undefined) throw new Error('a sliding log has a log')

  /** A full log: one unit each millisecond from 1 on. Its ring has wrapped around, and its sums pass 2^53. */
  const full = new Float64Array(rule.width + 2 * ENTRIES)
  log.frame(full, 0, full, 0, full.length)
  full[2] = ENTRIES / 2
  full[1] = MAX - 1000
  for (let nowMs = 1; nowMs <= ENTRIES; nowMs++) rule.spend(full, 0, nowMs, 1)

  /** Number of cells that `run` reads or writes; afterwards the log is as before. */
  function cellsTouched(run: (cells: Float64Array) => void): number {
    let touched = 0
    const written = new Map<PropertyKey, number>()
    const counting = new Proxy(full, {
      get(target, cell) {
        touched += 1
        return Reflect.get(target, cell, target)
      },
      set(target, cell, value) {
        touched += 1
        if (!written.has(cell)) written.set(cell, Reflect.get(target, cell, target) as number)
        return Reflect.set(target, cell, value, target)
      },
    })
    run(counting)
    for (const [cell, value] of written) Reflect.set(full, cell, value, full)
    return touched
  }

  const now = ENTRIES
  const cases: Record<string, (cells: Float64Array) => void> = {
    'settles when half of it has left the window': (cells) => {
      rule.settle(cells, 0, WINDOW_MS + ENTRIES / 2)
      expect(rule.used(cells, 0, WINDOW_MS + ENTRIES / 2)).toBe(ENTRIES / 2)
    },
    'settles when all of it has': (cells) => rule.settle(cells, 0, 10 * WINDOW_MS),
    'settles when the clock has stepped back': (cells) => {
      rule.settle(cells, 0, 5)
      expect(rule.used(cells, 0, 5)).toBe(ENTRIES)
    },
    'finds the wait of its whole limit': (cells) => expect(rule.waitMs(cells, 0, now, ENTRIES)).toBe(WINDOW_MS),
    'finds the wait of half of it': (cells) => expect(rule.waitMs(cells, 0, now, ENTRIES / 2)).toBe(WINDOW_MS - ENTRIES / 2),
    'is counted without being settled': (cells) => expect(rule.used(cells, 0, WINDOW_MS + 1000)).toBe(ENTRIES - 1000),
    'takes back nearly all of it': (cells) => {
      rule.refund(cells, 0, now, ENTRIES - 3)
      expect(rule.used(cells, 0, now)).toBe(3)
    },
    'is spent on past the limit': (cells) => rule.spend(cells, 0, now + 1, 5),
    'is spent on under a limit that has become small': (cells) => {
      slidingLog({ limit: 10, window: WINDOW_MS }).spend(cells, 0, now + 1, 5)
      expect(rule.used(cells, 0, now + 1)).toBe(ENTRIES + 5)
    },
  }
  for (const [name, run] of Object.entries(cases)) {
    test(`${name} by reading few of them`, () => expect(cellsTouched(run)).toBeLessThan(600))
  }
})
