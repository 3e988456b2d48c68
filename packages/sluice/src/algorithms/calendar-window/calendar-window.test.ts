import fc from 'fast-check'
import { afterEach, assert, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { type Model, walkModel } from '../../../test/model-walk.ts'
import {
  anyLimit,
  aroundNewOptions,
  keepsItsPromises,
  leavesNoTraceOfDeniedHits,
  withstandsStepsBack,
} from '../../../test/rule-promises.ts'
import type { Rule } from '../../core/rule.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { Random } from '../../testing/random.ts'
import { clocksApart } from './bounded-window.ts'
import { type CalendarWindowOptions, calendarWindow } from './calendar-window.ts'
import { type CalendarPeriod, PERIODS } from './period-start.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MAX = Number.MAX_SAFE_INTEGER

const at = (time: string): number => Date.parse(time)

/** The start of a period in UTC, and that of the next one. */
function windowOf(every: CalendarPeriod, nowMs: number): readonly [startMs: number, endMs: number] {
  const date = new Date(nowMs)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const monday = day - ((date.getUTCDay() + 6) % 7)
  switch (every) {
    case 'day':
      return [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)]
    case 'week':
      return [Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7)]
    case 'month':
      return [Date.UTC(year, month), Date.UTC(year, month + 1)]
    case 'year':
      return [Date.UTC(year, 0), Date.UTC(year + 1, 0)]
  }
}

/** A counted hit, with the end of its window. */
interface Counted {
  readonly cost: number
  readonly endMs: number
}

/** The list of every hit that counts. */
function modelOf(limit: number, every: CalendarPeriod): Model<readonly Counted[]> {
  const sum = (hits: readonly Counted[]): number => hits.reduce((total, { cost }) => total + cost, 0)
  const endOf = (hits: readonly Counted[], nowMs: number): number => hits[0]?.endMs ?? windowOf(every, nowMs)[1]
  return {
    limit,
    fresh: [],
    settle(hits, nowMs) {
      const [startMs, endMs] = windowOf(every, nowMs)
      // A state never ends more than one window from now, also after a step of the clock.
      return hits
        .filter((hit) => nowMs < hit.endMs)
        .map((hit) => ({ ...hit, endMs: hit.endMs > endMs ? Math.min(hit.endMs, nowMs + endMs - startMs) : hit.endMs }))
    },
    used: sum,
    allows: (hits, _, cost) => sum(hits) + cost <= limit,
    isNew: (hits) => hits.length === 0,
    spend: (hits, nowMs, cost) => [...hits, { cost, endMs: endOf(hits, nowMs) }],
    put: (hits, nowMs, used) => [{ cost: used, endMs: endOf(hits, nowMs) }],
    refund: (hits, _, cost) => (hits.length === 0 ? hits : [...hits, { cost: -Math.min(cost, sum(hits)), endMs: hits[0].endMs }]),
  }
}

describe.each(PERIODS)('calendarWindow of a %s', (every) => {
  const draw = (random: Random) => {
    const limit = random.whole(1, 12)
    return { rule: calendarWindow({ limit, every }), model: modelOf(limit, every) }
  }
  test('answers as the list of all counted hits does', () => walkModel(draw, { waits: 'edges', rules: 30 }))
  test('answers as the list does when the clock steps back too', () =>
    walkModel(draw, { stepsBack: true, waits: 'edges', rules: 30 }))
})

describe('calendarWindow of any zone and start', () => {
  const options = fc.oneof(
    fc.constant({ every: 'day', startsOn: '02:30' }),
    fc.constant({ every: 'day' }),
    fc.constant({ every: 'week', startsOn: 'sunday 02:30' }),
    fc.constant({ every: 'month', startsOn: 28 }),
    fc.constant({ every: 'year', startsOn: '03-29 02:30' }),
  )
  const timeZone = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns', 'Asia/Kathmandu')
  const rules = fc
    .record({ limit: anyLimit, options, timeZone })
    .map(({ limit, options, timeZone }) => calendarWindow({ limit, ...options, timeZone, name: 'any' } as CalendarWindowOptions))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  // No zone of these has a change of more than an hour.
  withstandsStepsBack(rules, ({ windowMs }) => windowMs + HOUR_MS)
  test('new options of a named rule keep what was used, and make exact waits', () =>
    aroundNewOptions(rules, (before, after) => expect(after).toBe(before)))
})

describe('calendarWindow, in known numbers', () => {
  test('a day of 23 hours, and one of 25 hours, is one window', () => {
    const rule = calendarWindow({ limit: 1, every: 'day', timeZone: 'Europe/Berlin' })
    const { limiter, clock } = definedLimiter(rule, fakeClock(at('2026-03-28T23:00Z')))
    expect(limiter.hit('k').resetAfterMs).toBe(23 * HOUR_MS)
    clock.set(at('2026-10-24T22:00Z'))
    expect(limiter.hit('k').resetAfterMs).toBe(25 * HOUR_MS)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 25 * HOUR_MS })
  })

  test('a month with a leap day has 29 days', () => {
    const { limiter } = definedLimiter(calendarWindow({ limit: 1, every: 'month' }), fakeClock(at('2028-02-01T00:00Z')))
    expect(limiter.hit('k').resetAfterMs).toBe(29 * DAY_MS)
  })

  test('the whole limit passes on either side of a boundary', () => {
    const { limiter, clock } = definedLimiter(calendarWindow({ limit: 9, every: 'year' }), fakeClock(at('2027-01-01T00:00Z') - 1))
    expect(limiter.hit('k', { cost: 9 })).toMatchObject({ allowed: true, resetAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k', { cost: 9 })).toMatchObject({ allowed: true, resetAfterMs: 365 * DAY_MS })
    expect(limiter.hit('k').allowed).toBe(false)
  })

  test('the count stops at 2^53 − 1 instead of losing exactness', () => {
    const { limiter } = definedLimiter(calendarWindow({ limit: MAX, every: 'week' }))
    expect(limiter.inc('k', MAX)).toBe(MAX)
    expect(limiter.inc('k', MAX)).toBe(MAX)
    expect(limiter.refund('k', MAX - 1)).toBe(1)
  })

  test('a charge is taken back only in its own window', () => {
    const rule = calendarWindow({ limit: 5, every: 'day' })
    const nowMs = at('2026-11-17T12:00Z')
    const cells = new Float64Array(2)
    rule.take(cells, 0, nowMs, 3)
    const [endsAt] = cells
    rule.refund(cells, 0, nowMs, 1, endsAt)
    expect([...cells]).toEqual([at('2026-11-18T00:00Z'), 2])
    rule.take(cells, 0, nowMs + DAY_MS, 4)
    rule.refund(cells, 0, nowMs + DAY_MS, 3, endsAt)
    expect([...cells]).toEqual([at('2026-11-19T00:00Z'), 4])
  })
})

describe('a clock that steps back', () => {
  test('over a boundary frees nothing, and makes nobody wait longer than a window', () => {
    const rule = calendarWindow({ limit: 2, every: 'day' })
    const { limiter, clock } = definedLimiter(rule, fakeClock(at('2026-11-18T00:00:10Z')))
    limiter.hit('k', { cost: 2 })
    clock.set(at('2026-11-17T23:59:50Z'))
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: DAY_MS })
    clock.advance(10_000)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: DAY_MS - 10_000 })
    clock.advance(DAY_MS - 10_001)
    expect(limiter.hit('k').allowed).toBe(false)
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('by a year counts in the window of the new time', () => {
    const { limiter, clock } = definedLimiter(calendarWindow({ limit: 2, every: 'month' }), fakeClock(at('2026-11-18T00:00Z')))
    limiter.hit('k')
    clock.set(at('2025-02-10T00:00Z'))
    expect(limiter.hit('k')).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 28 * DAY_MS })
    expect(limiter.hit('new')).toMatchObject({ resetAfterMs: 19 * DAY_MS })
  })
})

describe('options', () => {
  test.each<[CalendarPeriod, unknown, string]>([
    ['day', undefined, ''],
    ['day', '00:00', ''],
    ['day', '23:59', '23:59'],
    ['week', 'monday', ''],
    ['week', 'sunday', 'sunday'],
    ['week', '09:00', '09:00'],
    ['week', 'monday 09:00', '09:00'],
    ['week', 'friday 09:00', 'friday 09:00'],
    ['month', 1, ''],
    ['month', 28, '28'],
    ['month', '28 09:00', '28 09:00'],
    ['month', '1 09:00', '09:00'],
    ['year', '01-01', ''],
    ['year', '12-31 23:59', '12-31 23:59'],
    ['year', '02-28', '02-28'],
  ])('every %s, startsOn %j: the shortest text is %j', (every, startsOn, text) => {
    const options = { limit: 1, every, ...(startsOn !== undefined && { startsOn }) } as CalendarWindowOptions
    const { name, parameters } = calendarWindow(options)
    expect(parameters).toEqual({ limit: 1, every, startsOn: text, timeZone: 'UTC' })
    expect(name).toBe(`calendar-window:1/${every}${text === '' ? '' : `:${text}`}`)
  })

  test.each<[CalendarPeriod, readonly unknown[]]>([
    [
      'day',
      ['monday', 1, '24:00', '9:00', '09:60', '09:00:00', ' 09:00', '09:00 ', '', null, true, {}, [], '09:00\n', Number.NaN],
    ],
    ['week', ['Monday', 'mon', 1, 'monday ', 'monday  09:00', 'monday09:00', '09:00 monday', '04-06', 'monday 9:00']],
    ['month', [0, 29, 31, -1, 1.5, '1', '28', '29 09:00', '01 09:00', 'monday', 2 ** 53, '15 09:00 ', '1509:00']],
    ['year', ['02-29', '02-30', '04-31', '00-10', '13-01', '1-1', '2026-01-01', 1, 'april', '06-00', 'x'.repeat(65)]],
  ])('every %s refuses other starts', (every, wrong) => {
    for (const startsOn of wrong) {
      const options = { limit: 1, every, startsOn } as CalendarWindowOptions
      expect(() => calendarWindow(options), `${startsOn}`).toThrow(
        expect.objectContaining({ code: 'ERR_RULE', option: 'startsOn', value: startsOn }),
      )
    }
  })

  test('a value that cannot be written as a text is refused too', () => {
    for (const value of [{ toString: () => assert.fail() }, Symbol('x'), () => '09:00', 9n, Object.create(null)]) {
      for (const option of ['startsOn', 'timeZone', 'every', 'limit']) {
        const options = { limit: 1, every: 'day', [option]: value } as unknown as CalendarWindowOptions
        expect(() => calendarWindow(options)).toThrow(expect.objectContaining({ code: 'ERR_RULE', option }))
      }
    }
  })

  test('an error names the forms of the period', () => {
    expect(() => calendarWindow({ limit: 1, every: 'month', startsOn: 31 })).toThrow(
      /startsOn to be a day from 1 to 28, or such as '09:00' or '15 09:00', if every is 'month', got 31$/,
    )
  })

  test.each([
    ['every', undefined],
    ['every', 'hour'],
    ['every', 'Day'],
    ['every', 1],
    ['limit', 0],
    ['limit', 2 ** 53],
    ['limit', undefined],
    ['timeZone', ''],
    ['timeZone', 'Mars/Base'],
    ['timeZone', '+01:00'],
    ['timeZone', 'Europe/Berlin '],
    ['timeZone', 7],
    ['timeZone', null],
    ['timeZone', `Europe/${'x'.repeat(64)}`],
    ['name', ''],
  ])('%s cannot be %j', (option, value) => {
    const options = { limit: 1, every: 'day', [option]: value } as CalendarWindowOptions
    expect(() => calendarWindow(options)).toThrow(expect.objectContaining({ code: 'ERR_RULE', option }))
  })

  test('the default name tells every difference', () => {
    const rule = calendarWindow({ limit: 5, every: 'month', startsOn: '15 09:30', timeZone: 'Europe/Berlin', per: 'org' })
    expect(rule.name).toBe('calendar-window:5/month:15 09:30:Europe/Berlin:per-org')
    expect(rule.per).toEqual(['org'])
  })

  test('types know which start belongs to which period', () => {
    expectTypeOf(calendarWindow({ limit: 1, every: 'day', per: ['a', 'b'] })).toEqualTypeOf<Rule<readonly ['a', 'b']>>()
    calendarWindow({ limit: 1, every: 'week', startsOn: 'monday 09:00' })
    calendarWindow({ limit: 1, every: 'month', startsOn: '15 09:00' })
    const some = { limit: 1, every: 'year' as CalendarPeriod, startsOn: '09:00' } as const
    calendarWindow(some)
    // @ts-expect-error: every is required.
    expect(() => calendarWindow({ limit: 1 })).toThrow()
    // @ts-expect-error: a day has no weekday.
    expect(() => calendarWindow({ limit: 1, every: 'day', startsOn: 'monday' })).toThrow()
    // @ts-expect-error: a week has no day of the month.
    expect(() => calendarWindow({ limit: 1, every: 'week', startsOn: 15 })).toThrow()
    // @ts-expect-error: a month has no month.
    expect(() => calendarWindow({ limit: 1, every: 'month', startsOn: '04-06' })).toThrow()
    // @ts-expect-error: a year needs a month with its day.
    expect(() => calendarWindow({ limit: 1, every: 'year', startsOn: 15 })).toThrow()
    // @ts-expect-error: there is no such period.
    expect(() => calendarWindow({ limit: 1, every: 'hour' })).toThrow()
    // @ts-expect-error: a zone is a name.
    expect(() => calendarWindow({ limit: 1, every: 'day', timeZone: 1 })).toThrow()
  })
})

describe('the rule around a time', () => {
  const rule = calendarWindow({ limit: 5, every: 'day', timeZone: 'Europe/Berlin', name: 'daily', per: 'user' })
  const nowMs = at('2026-11-17T12:00Z')
  const bounded = rule.around?.(nowMs) as Rule

  test('has the boundaries of three windows, and keeps its states under the same names', () => {
    const { name, per, algorithm, limit, parameters } = bounded
    expect({ name, per, algorithm, limit }).toEqual({ name: 'daily', per: ['user'], algorithm: 'calendar-window', limit: 5 })
    const boundaries = ['15', '16', '17', '18'].map((day) => at(`2026-11-${day}T23:00Z`))
    expect(Object.values(parameters)).toEqual([5, ...boundaries])
  })

  test('is the same object until the window ends', () => {
    expect(rule.around?.(at('2026-11-16T23:00Z'))).toBe(bounded)
    expect(rule.around?.(at('2026-11-17T23:00Z') - 1)).toBe(bounded)
    const next = rule.around?.(at('2026-11-17T23:00Z'))
    expect(next).not.toBe(bounded)
    expect(rule.around?.(nowMs)).not.toBe(next)
  })

  test('decides alike within the three windows, and refuses times outside of them', () => {
    const [first, last] = [at('2026-11-15T23:00Z'), at('2026-11-18T23:00Z')]
    for (const timeMs of [first, first + 7 * HOUR_MS, nowMs, last - 1]) {
      const [expected, got] = [new Float64Array(2), new Float64Array(2)]
      rule.take(expected, 0, timeMs, 2)
      bounded.take(got, 0, timeMs, 2)
      expect(got).toEqual(expected)
    }
    for (const timeMs of [first - 1, last, 0]) {
      const cells = new Float64Array(2)
      expect(() => bounded.take(cells, 0, timeMs, 1)).toThrow(clocksApart().message)
      expect(() => bounded.settle(cells, 0, timeMs)).toThrow(expect.objectContaining({ code: 'ERR_STORE_FATAL' }))
      expect([...cells]).toEqual([0, 0])
    }
  })
})

describe('Intl', () => {
  const Original = Intl.DateTimeFormat
  /** Number of formatters that were made, and of texts that they were asked for. */
  const counts = { made: 0, asked: 0 }
  beforeEach(() => {
    Object.assign(counts, { made: 0, asked: 0 })
    Intl.DateTimeFormat = new Proxy(Original, {
      construct(target, args) {
        counts.made += 1
        const format = Reflect.construct(target, args) as Intl.DateTimeFormat
        return {
          formatToParts: (timeMs: number) => format.formatToParts(timeMs),
          format(timeMs: number) {
            counts.asked += 1
            return format.format(timeMs)
          },
        }
      },
    })
    vi.resetModules()
  })
  afterEach(() => {
    Intl.DateTimeFormat = Original
  })

  test('is not asked by a hit within a window', async () => {
    const { calendarWindow } = await import('./calendar-window.ts')
    const rule = calendarWindow({ limit: 1e6, every: 'month', timeZone: 'Europe/Berlin' })
    const { limiter, clock } = definedLimiter(rule, fakeClock(at('2026-11-01T00:00Z')))
    limiter.hit('k')
    expect(counts.asked).toBeGreaterThan(0)
    counts.asked = 0
    for (let hits = 0; hits < 1000; hits++) {
      limiter.hit(`k${hits % 10}`)
      limiter.peek('k')
      rule.around?.(clock.now())
      clock.advance(2_000_000)
    }
    expect(counts.asked).toBe(0)
    clock.advance(30 * DAY_MS)
    limiter.hit('k')
    expect(counts.asked).toBeGreaterThan(0)
    expect(counts.asked).toBeLessThan(20)
  })

  test('is not asked by an import, and keeps one formatter for each zone', async () => {
    const { calendarWindow } = await import('./calendar-window.ts')
    expect(counts.made).toBe(0)
    for (let limit = 1; limit < 100; limit++) calendarWindow({ limit, every: 'day', timeZone: 'Europe/Berlin' })
    expect(counts.made).toBe(1)
  })

  test('keeps a bounded number of formatters, whatever the names of zones are', async () => {
    const { TimeZone } = await import('./time-zone.ts')
    const names = Array.from({ length: 1100 }, (_, i) => {
      let bits = i
      return 'europe/berlin'.replace(/[a-z]/g, (letter) => {
        const isLarge = bits % 2 === 1
        bits = Math.floor(bits / 2)
        return isLarge ? letter.toUpperCase() : letter
      })
    })
    for (const name of names) expect(TimeZone.named(name)).toBeDefined()
    const made = counts.made
    TimeZone.named(names[1099])
    expect(counts.made).toBe(made)
    TimeZone.named(names[0])
    expect(counts.made).toBe(made + 1)
  })
})
