import { describe, expect, expectTypeOf, test } from 'vitest'
import { definedLimiter } from '../../test/defined-limiter.ts'
import { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import { calendarWindow } from './calendar-window/calendar-window.ts'
import { fixedWindow } from './fixed-window/fixed-window.ts'
import { gcra } from './gcra/gcra.ts'
import { leakyBucket } from './leaky-bucket/leaky-bucket.ts'
import { readNotation } from './notation.ts'
import { parseRule } from './parse-rule.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'
import { slidingWindow } from './sliding-window/sliding-window.ts'
import { tokenBucket } from './token-bucket/token-bucket.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Returns the error that a notation throws. */
function failureOf(notation: unknown): SluiceError {
  try {
    parseRule(notation as string)
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(notation)} was read as a rule`)
}

describe('one rule in notation', () => {
  test.each([
    ['100/minute', 100, MINUTE],
    ['1/ms', 1, 1],
    ['1/millisecond', 1, 1],
    ['1/milliseconds', 1, 1],
    ['5/s', 5, SECOND],
    ['5/sec', 5, SECOND],
    ['5/secs', 5, SECOND],
    ['5/second', 5, SECOND],
    ['5/seconds', 5, SECOND],
    ['5/m', 5, MINUTE],
    ['5/min', 5, MINUTE],
    ['5/mins', 5, MINUTE],
    ['5/minutes', 5, MINUTE],
    ['5/h', 5, HOUR],
    ['5/hr', 5, HOUR],
    ['5/hrs', 5, HOUR],
    ['5/hour', 5, HOUR],
    ['5/hours', 5, HOUR],
    ['5/d', 5, DAY],
    ['5/day', 5, DAY],
    ['5/days', 5, DAY],
    ['5/w', 5, 7 * DAY],
    ['5/week', 5, 7 * DAY],
    ['5/weeks', 5, 7 * DAY],
    ['5/month', 5, 30 * DAY],
    ['5/months', 5, 30 * DAY],
    ['5/year', 5, 360 * DAY],
    ['5/years', 5, 360 * DAY],
    ['10 per minute', 10, MINUTE],
    ['10 per 2 hours', 10, 2 * HOUR],
    ['10 per 2hours', 10, 2 * HOUR],
    ['10/2 hours', 10, 2 * HOUR],
    ['10/2hours', 10, 2 * HOUR],
    ['10/15m', 10, 15 * MINUTE],
    ['10/250ms', 10, 250],
    ['10 / 1 day', 10, DAY],
    ['  10  /  30  s  ', 10, 30 * SECOND],
    ['10\tper\n2\thours', 10, 2 * HOUR],
    ['10 PER Minute', 10, MINUTE],
    ['007/minute', 7, MINUTE],
    ['9007199254740991/minute', Number.MAX_SAFE_INTEGER, MINUTE],
    ['1/10 years', 1, 3600 * DAY],
  ])('%j is a fixed window of %d per %d ms', (notation, limit, window) => {
    expect(parseRule(notation)).toEqual(fixedWindow({ limit, window }))
  })

  test.each<readonly [string, Rule]>([
    ['fixed-window 100/minute', fixedWindow({ limit: 100, window: '1m' })],
    ['sliding-log 100/minute', slidingLog({ limit: 100, window: '1m' })],
    ['sliding-window 100 per minute', slidingWindow({ limit: 100, window: '1m' })],
    ['token-bucket 10/second', tokenBucket({ capacity: 10, refill: 10, every: '1s' })],
    ['token-bucket 10/second burst 20', tokenBucket({ capacity: 20, refill: 10, every: '1s' })],
    ['gcra 10/second', gcra({ limit: 10, period: '1s' })],
    ['gcra 10 per 5 seconds burst 3', gcra({ limit: 10, period: '5s', burst: 3 })],
    ['leaky-bucket 10/second', leakyBucket({ capacity: 10, leak: 10, every: '1s' })],
    ['leaky-bucket 10/second burst 25', leakyBucket({ capacity: 25, leak: 10, every: '1s' })],
    ['GCRA  10/Second  BURST  20', gcra({ limit: 10, period: '1s', burst: 20 })],
  ])('%j', (notation, rule) => {
    const parsed = parseRule(notation) as Rule
    // A log has functions of its own, which are never equal by identity.
    expect(JSON.stringify(parsed)).toBe(JSON.stringify(rule))
    expect(parsed.constructor).toBe(rule.constructor)
  })

  test('limits as written', () => {
    const { limiter, clock } = definedLimiter(parseRule('2 per 3 seconds'))
    expect([1, 2, 3].map(() => limiter.hit('k').allowed)).toEqual([true, true, false])
    clock.advance(3000)
    expect(limiter.hit('k').allowed).toBe(true)
  })
})

describe('several rules in notation', () => {
  test.each(['5/second; 100/minute', '5/second,100/minute', '5/second | 100/minute', ' 5/second ;100/minute '])(
    '%j',
    (notation) => {
      expect(parseRule(notation)).toEqual([fixedWindow({ limit: 5, window: '1s' }), fixedWindow({ limit: 100, window: '1m' })])
    },
  )

  test('keep their order, and each its own algorithm', () => {
    const rules = parseRule('gcra 10/second burst 20; sliding-log 100/minute, 1000/day | leaky-bucket 1/s')
    expect(rules.map(({ name }) => name)).toEqual([
      'gcra:20+10/1s',
      'sliding-log:100/1m',
      'fixed-window:1000/1d',
      'leaky-bucket:1-1/1s',
    ])
  })
})

describe('a notation that cannot be read', () => {
  test.each([
    '',
    ' ',
    'minute',
    '100',
    '100/',
    '/minute',
    '100 minute',
    '100 a minute',
    '100//minute',
    '100/minute/hour',
    '100per minute',
    '100 perminute',
    '1.5/second',
    '-5/second',
    '+5/second',
    '1e3/second',
    '1_000/second',
    '1,000/second',
    '0x10/second',
    '５/second',
    'Infinity/second',
    'NaN/second',
    '5/1.5 seconds',
    '5/-1 seconds',
    '5/2',
    '5/second burst',
    'gcra 5/second burst x',
    'gcra 5/second burst -1',
    'gcra 5/second burst 1 burst 2',
    'gcra5/second',
    'gcra',
    '5/second;',
    ';5/second',
    '5/second;;100/minute',
    ';',
    '5/second gcra',
    '5/second name x',
    '100/minute\u0000',
    '100/minute # comment',
  ])('%j is refused with an example of what can', (notation) => {
    const { code, message } = failureOf(notation)
    expect(code).toBe('ERR_NOTATION')
    expect(message).toMatch(/such as '100\/minute' or '10 per 2 hours', got "/)
  })

  test.each([
    ['5/secund', 'second'],
    ['5/minuts', 'minute'],
    ['5/monht', 'month'],
    ['5/dayz', 'day'],
  ])('%j is refused with the nearest unit, %j', (notation, nearest) => {
    const { code, message } = failureOf(notation)
    expect(code).toBe('ERR_NOTATION')
    expect(message).toContain(JSON.stringify(notation))
    expect(message).toContain(`did you mean ${nearest}`)
  })

  test('the error about an unknown unit that is near none lists all units', () => {
    const { code, message } = failureOf('5/fortnight')
    expect(code).toBe('ERR_NOTATION')
    for (const unit of ['"fortnight"', 'second', 'minute', 'hour', 'day', 'week', 'month', 'year'])
      expect(message).toContain(unit)
  })

  test.each([
    ['tokenbucket 5/second', 'token-bucket'],
    ['sliding-logs 5/second', 'sliding-log'],
    ['gcre 5/second', 'gcra'],
    ['fixed-windows 5/second', 'fixed-window'],
  ])('%j is refused with the nearest algorithm, %j', (notation, nearest) => {
    expect(failureOf(notation)).toMatchObject({
      code: 'ERR_NOTATION',
      message: expect.stringContaining(`did you mean ${nearest}?`),
    })
  })

  test.each(['constructor 5/second', 'tostring 5/second', 'valueof 5/second', '5/constructor', '5/tostring'])(
    '%j is no name, though every object has it',
    (notation) => {
      expect(failureOf(notation).code).toBe('ERR_NOTATION')
    },
  )

  test.each(['fixed-window', 'sliding-log', 'sliding-window'])(
    'a %s has no burst, and the message lists the algorithms that have one',
    (algorithm) => {
      const { code, message } = failureOf(`${algorithm} 5/second burst 10`)
      expect(code).toBe('ERR_NOTATION')
      expect(message).toMatch(/token-bucket, gcra, leaky-bucket/)
    },
  )

  test('the error about a plain notation with a burst says that a fixed window has none', () => {
    expect(failureOf('5/second burst 10').message).toContain('fixed-window has no burst')
  })

  test.each([undefined, null, 5, {}, [], ['5/second'], 5n, Symbol.iterator])('%s is no notation', (notation) => {
    expect(failureOf(notation).code).toBe('ERR_NOTATION')
  })

  test('the error names the one bad rule among several', () => {
    expect(failureOf('5/second; 10/parsec; 7/day').message).toContain('"10/parsec"')
  })

  test('parameters that no rule can have are refused by the rule itself', () => {
    expect(failureOf('0/minute').code).toBe('ERR_RULE')
    expect(failureOf('9007199254740993/minute').code).toBe('ERR_RULE')
    expect(failureOf('gcra 5/second burst 0').code).toBe('ERR_RULE')
    expect(failureOf('5/0 seconds').code).toBe('ERR_DURATION')
    expect(failureOf('5/99999 years').code).toBe('ERR_DURATION')
    expect(failureOf(`${'9'.repeat(900)}/minute`).code).toBe('ERR_RULE')
    expect(failureOf(`5/${'9'.repeat(900)} minutes`).code).toBe('ERR_DURATION')
  })
})

describe('a long notation', () => {
  test('is read up to 1,000 characters', () => {
    expect(parseRule(`${' '.repeat(992)}5/second`.slice(-1000))).toEqual(fixedWindow({ limit: 5, window: '1s' }))
    expect(failureOf(`${' '.repeat(993)}5/second`).message).toContain('up to 1,000 characters')
  })

  test('is quoted only in part', () => {
    expect(failureOf('x'.repeat(1000)).message.length).toBeLessThan(250)
    expect(failureOf('x'.repeat(100_000)).message.length).toBeLessThan(250)
  })

  /** The quickest of three refusals, so that a pause of the machine does not count. */
  const msToRefuse = (notation: string): number => {
    expect(notation.length).toBeLessThanOrEqual(1000)
    const tries = [1, 2, 3].map(() => {
      const startMs = performance.now()
      expect(failureOf(notation).code).toBe('ERR_NOTATION')
      return performance.now() - startMs
    })
    return Math.min(...tries)
  }

  test.each([
    ' '.repeat(1000),
    'a'.repeat(1000),
    '-'.repeat(1000),
    '1'.repeat(1000),
    '/'.repeat(1000),
    `a${'-'.repeat(998)}!`,
    `${'a '.repeat(499)}!`,
    `1${' '.repeat(998)}!`,
    `1 per ${'1'.repeat(500)}${' '.repeat(490)}!`,
    `1/${'1'.repeat(990)}!`,
    `1/${'s'.repeat(990)}!`,
    `1/s${' '.repeat(400)}burst${' '.repeat(400)}${'1'.repeat(100)}!`,
    `${'1 per '.repeat(166)}!`,
    `${'1/s '.repeat(249)}!`,
    ';'.repeat(1000),
  ])('takes no time to be refused: %#', (notation) => {
    expect(msToRefuse(notation)).toBeLessThan(50)
  })

  test('takes no time to be refused: many spaces on both sides of per', () => {
    expect(msToRefuse(`1${' '.repeat(332)}per${' '.repeat(663)}!`)).toBeLessThan(50)
  })
})

describe('the name of a rule in notation', () => {
  test('can be given, for every algorithm', () => {
    for (const algorithm of ['fixed-window', 'sliding-log', 'sliding-window', 'token-bucket', 'gcra', 'leaky-bucket']) {
      expect(parseRule(`${algorithm} 5/second`, { name: 'api' })).toMatchObject({ name: 'api', limit: 5 })
    }
  })

  test('is given to each of several rules by its index', () => {
    const rules = parseRule('5/second; gcra 100/minute', { name: (i) => `rule-${i + 1}` })
    expect(rules.map(({ name }) => name)).toEqual(['rule-1', 'rule-2'])
  })

  test('cannot be one string for several rules, and an unknown option is refused', () => {
    expect(() => parseRule('5/second; 9/minute', { name: 'api' })).toThrow(/needs name to be a function .* got "api"/)
    expect(() => parseRule('5/second', { nam: 'api' } as object)).toThrow('has no option "nam": there is name')
    expect(() => parseRule('5/second', { name: '' })).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })
})

describe('the type of the result', () => {
  test('is a rule for one, a list for several, and either for an unknown string', () => {
    expectTypeOf(parseRule('100/minute')).toEqualTypeOf<Rule<undefined>>()
    expectTypeOf(parseRule('token-bucket 10 per second burst 20')).toEqualTypeOf<Rule<undefined>>()
    expectTypeOf(parseRule('5/second; 100/minute')).toEqualTypeOf<readonly Rule<undefined>[]>()
    expectTypeOf(parseRule('5/second, 100/minute')).toEqualTypeOf<readonly Rule<undefined>[]>()
    expectTypeOf(parseRule('5/second | 100/minute')).toEqualTypeOf<readonly Rule<undefined>[]>()
    const anyNotation: string = '5/second'
    expectTypeOf(parseRule(anyNotation)).toEqualTypeOf<Rule<undefined> | readonly Rule<undefined>[]>()
    const oneOrMore = '5/second' as '5/second' | '5/second; 100/minute'
    expectTypeOf(parseRule(oneOrMore)).toEqualTypeOf<Rule<undefined> | readonly Rule<undefined>[]>()
  })

  test('is the type of the value', () => {
    expect(Array.isArray(parseRule('100/minute'))).toBe(false)
    expect(Array.isArray(parseRule('5/second;100/minute'))).toBe(true)
  })
})

describe('the parts of a notation', () => {
  test('are those that were written, with the defaults', () => {
    expect(readNotation('5/second; Token-Bucket 10 per 2 minutes burst 20')).toEqual([
      { algorithm: 'fixed-window', limit: 5, windowMs: SECOND, burst: undefined, text: '5/second' },
      {
        algorithm: 'token-bucket',
        limit: 10,
        windowMs: 2 * MINUTE,
        burst: 20,
        text: 'Token-Bucket 10 per 2 minutes burst 20',
      },
    ])
  })

  test.each([
    ['sliding-lag 5/second', 'algorithm', 'sliding-lag'],
    ['5/secund', 'unit', 'secund'],
    ['sliding-log 5/second burst 7', 'burst', 7],
  ])('%j: the error names the part that is wrong', (notation, option, value) => {
    expect(failureOf(notation)).toMatchObject({ code: 'ERR_NOTATION', option, value })
  })
})

describe('units of the calendar', () => {
  test.each(['day', 'week', 'month', 'year'] as const)('a calendar %s', (every) => {
    const { name, parameters } = calendarWindow({ limit: 10_000, every })
    for (const notation of [
      `10000/calendar ${every}`,
      `10000 per Calendar ${every.toUpperCase()}`,
      `calendar-window 10000 / calendar ${every}`,
    ]) {
      expect(parseRule(notation)).toMatchObject({ algorithm: 'calendar-window', name, parameters })
    }
    expect(readNotation(`5/calendar ${every}`)[0]).toMatchObject({ algorithm: 'calendar-window', calendar: every })
  })

  test('a month without the word is thirty days', () => {
    expect(parseRule('10000/month')).toMatchObject({ algorithm: 'fixed-window', windowMs: 30 * DAY })
    expect(readNotation('10000/month')[0].calendar).toBeUndefined()
    expect([parseRule('5/second; 10000/calendar month')].flat().map(({ algorithm }) => algorithm)).toEqual([
      'fixed-window',
      'calendar-window',
    ])
  })

  test.each([
    ['5/calendar months', 'unit', /no unit is called "months", .*: did you mean month\?$/],
    ['5/calendar hour', 'unit', /no unit is called "hour"/],
    ['5/calendar m', 'unit', /no unit is called "m"/],
    ['5/calendar', 'unit', /no unit is called "calendar"/],
    ['calendar-window 5/month', 'unit', /a calendar-window needs a unit of the calendar, such as 'calendar month'/],
    ['fixed-window 5/calendar month', 'unit', /a fixed-window has no unit of the calendar/],
    ['5/2 calendar months', undefined, /a rule in notation is such as/],
    ['5/calendar 2 months', undefined, /a rule in notation is such as/],
    ['5/calendar month burst 9', 'burst', /a calendar-window has no burst/],
  ])('%s is refused', (notation, option, message) => {
    expect(failureOf(notation)).toMatchObject({ code: 'ERR_NOTATION', option, message: expect.stringMatching(message) })
  })
})
