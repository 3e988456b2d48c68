import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { anyLimit, anyWindowMs, aroundNewOptions, runs, TEN_YEARS_MS } from '../../../test/rule-promises.ts'
import { type Rule, takeByParts } from '../../core/rule.ts'
import { gcra } from '../gcra/gcra.ts'
import { leakyBucket } from '../leaky-bucket/leaky-bucket.ts'
import { tokenBucket } from '../token-bucket/token-bucket.ts'
import { drainPerTickOf, paceOf, packRate } from './rate.ts'

const MAX = Number.MAX_SAFE_INTEGER

interface Numbers {
  readonly capacity: number
  readonly refill: number
  readonly every: number
}

/** The three names of the smooth meter. */
const NAMES: readonly (readonly [string, (numbers: Numbers, name?: string) => Rule])[] = [
  ['tokenBucket', (numbers, name = 'meter') => tokenBucket({ ...numbers, name })],
  ['gcra', ({ capacity, refill, every }, name = 'meter') => gcra({ limit: refill, period: every, burst: capacity, name })],
  ['leakyBucket', ({ capacity, refill, every }, name = 'meter') => leakyBucket({ capacity, leak: refill, every, name })],
]

const stepped = (numbers: Numbers, name = 'meter'): Rule => tokenBucket({ ...numbers, name, style: 'stepped' })

const numbers = fc
  .record({ capacity: anyLimit, refill: anyLimit, every: anyWindowMs })
  .map(({ capacity, refill, every }) => ({ capacity: Math.min(capacity, Math.floor(2 ** 46 / every)), refill, every }))

/** Options of wide meters: their rate does not fit into one cell. */
const wideNumbers = fc.record({
  capacity: fc.integer({ min: 1, max: 1000 }),
  refill: fc.integer({ min: 2 ** 16, max: 2 ** 31 }),
  every: fc.integer({ min: 2 ** 36, max: TEN_YEARS_MS }),
})

describe('token bucket, GCRA and leaky bucket', () => {
  test('are one definition: with the same parameters they decide alike', () => {
    const hits = fc.array(fc.record({ pause: fc.integer({ min: 0, max: 500 }), cost: fc.integer({ min: 0, max: 1000 }) }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(numbers, hits, (numbers, hits) => {
        const answers = NAMES.map(([, make]) => {
          const rule = make(numbers)
          const { limiter, clock } = definedLimiter(rule)
          return hits.map(({ pause, cost }) => {
            clock.advance(Math.floor((rule.windowMs * pause) / 1000))
            return JSON.stringify(limiter.hit('k', { cost: 1 + Math.floor((rule.limit * cost) / 1000) }))
          })
        })
        expect(answers[1]).toEqual(answers[0])
        expect(answers[2]).toEqual(answers[0])
      }),
      runs(100),
    )
  })

  test('share their state under one name: a rule can change its algorithm without losing the units used', () => {
    const { limiter, withRule } = definedLimiter(NAMES[0][1]({ capacity: 5, refill: 2, every: 1000 }))
    limiter.hit('k', { cost: 4 })
    for (const [, make] of NAMES) expect(withRule(make({ capacity: 5, refill: 2, every: 1000 })).get('k')).toBe(4)
  })
})

describe.each([...NAMES, ['stepped tokenBucket', stepped] as const])('the largest numbers of %s', (of, make) => {
  const isStepped = of.startsWith('stepped')
  const refused = (numbers: Numbers): void => {
    expect(() => make(numbers)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  }

  /** Expects exact counts and waits, to the unit and the millisecond, with all tokens spent, half of them refilled, and so on. */
  const expectExact = ({ capacity, refill, every }: Numbers): void => {
    const { limiter, clock } = definedLimiter(make({ capacity, refill, every }))
    const startMs = clock.now()
    expect(limiter.hit('k', { cost: capacity })).toMatchObject({ allowed: true, remaining: 0 })
    const backAfter = (ms: number): bigint =>
      isStepped ? (BigInt(ms) / BigInt(every)) * BigInt(refill) : (BigInt(ms) * BigInt(refill)) / BigInt(every)
    for (const cost of [1, 2, Math.floor(capacity / 3), Math.floor(capacity / 2), capacity - 1, capacity].filter((c) => c >= 1)) {
      clock.set(startMs)
      const { retryAfterMs } = limiter.peek('k', { cost })
      expect(backAfter(retryAfterMs)).toBeGreaterThanOrEqual(BigInt(cost))
      expect(backAfter(retryAfterMs - 1)).toBeLessThan(BigInt(cost))
      for (const ms of [retryAfterMs - 1, retryAfterMs, retryAfterMs + 1]) {
        clock.set(startMs + ms)
        const { remaining } = limiter.peek('k', { cost: 0 })
        if (backAfter(ms) >= BigInt(capacity)) expect(remaining).toBe(capacity)
        else expect(BigInt(remaining)).toBe(backAfter(ms))
      }
    }
  }

  test.each([1, 7, 1000, 86_400_000, TEN_YEARS_MS])('that take no more than 2^47 ms to fill are exact: every %d ms', (every) => {
    const capacity = Math.floor(2 ** 47 / every)
    expectExact({ capacity, refill: 1, every })
    refused({ capacity: capacity + 1, refill: 1, every })
  })

  if (!isStepped) {
    test.each([
      { refill: 7919, every: 1000 },
      { refill: 1_000_003, every: 86_400_000 },
      { refill: 2 ** 31 - 1, every: 2 ** 31 },
    ])('whose products stay below 2^53 are exact: $refill per $every ms', ({ refill, every }) => {
      const capacity = Math.floor(MAX / every)
      expectExact({ capacity, refill, every })
      refused({ capacity: capacity + 1, refill, every })
    })

    test('may have common factors, which are divided out first', () => {
      expectExact({ capacity: 2 ** 46, refill: 3_000_000, every: 6_000_000 })
    })
  }

  test('go up to a capacity of 2^53 − 1 where a token or more comes back each millisecond', () => {
    expectExact({ capacity: MAX, refill: 2 ** 31, every: 1 })
    expectExact({ capacity: MAX, refill: MAX, every: 1 })
  })

  test('inc() stops at the highest count that is exact', () => {
    const rule = make({ capacity: 10, refill: 3, every: 7 })
    const { limiter } = definedLimiter(rule)
    expect(limiter.inc('k', MAX)).toBe(rule.mostUsed)
    expect(limiter.inc('k', MAX)).toBe(rule.mostUsed)
    const { retryAfterMs } = limiter.peek('k')
    expect(Number.isSafeInteger(retryAfterMs)).toBe(true)
    expect(limiter.refund('k', rule.mostUsed - 1)).toBe(1)
  })

  test('set() takes the highest count that is exact and refuses the next', () => {
    const rule = make({ capacity: 10, refill: 1, every: 7 })
    const { limiter } = definedLimiter(rule)
    expect(limiter.set('k', rule.mostUsed)).toBe(rule.mostUsed)
    for (const used of [rule.mostUsed + 1, -1, 0.5, Number.NaN]) {
      expect(() => limiter.set('k', used)).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
    }
    expect(limiter.get('k')).toBe(rule.mostUsed)
  })
})

describe('new options of a named meter', () => {
  const before: Numbers = { capacity: 10, refill: 10, every: 1000 }

  const expectKept = (before: number, after: number, _: Rule, to: Rule): void => expect(after).toBe(Math.min(before, to.mostUsed))

  describe.each([...NAMES, ['stepped tokenBucket', stepped] as const])('of %s', (_, make) => {
    test('keep the tokens owed and make exact waits, whatever they are', () =>
      aroundNewOptions(
        numbers.map((of) => make(of)).filter(({ width }) => width === 3),
        expectKept,
      ))

    test('keep the tokens owed and make exact waits, also where the rates are wide', () =>
      aroundNewOptions(
        wideNumbers.map((of) => make(of)).filter(({ width }) => width === 4),
        expectKept,
      ))
  })

  test('make a stepped bucket wait for its new step, also when more than one has passed since the old one began', () => {
    const { limiter, clock, withRule } = definedLimiter(stepped({ capacity: 1, refill: 1, every: 1000 }))
    limiter.hit('k')
    clock.advance(950)
    const faster = withRule(stepped({ capacity: 1, refill: 1, every: 100 }))
    const { allowed, retryAfterMs } = faster.hit('k')
    expect(allowed).toBe(false)
    expect(retryAfterMs).toBeGreaterThanOrEqual(1)
    expect(retryAfterMs).toBeLessThanOrEqual(100)
    expect(faster.get('k')).toBe(1)
  })

  test.each([...NAMES, ['stepped tokenBucket', stepped] as const])(
    'keep what was used when the capacity changes: %s',
    (_, make) => {
      const { limiter, clock, withRule } = definedLimiter(make(before))
      limiter.hit('k', { cost: 8 })
      clock.advance(50)
      const used = limiter.get('k')
      expect(withRule(make({ ...before, capacity: 100 })).peek('k').remaining).toBe(100 - used)
      expect(withRule(make({ ...before, capacity: 5 })).hit('k')).toMatchObject({ allowed: false, remaining: 0 })
    },
  )

  test.each(NAMES)('keep the tokens owed when the rate changes: %s', (_, make) => {
    const { limiter, clock, withRule } = definedLimiter(make(before))
    limiter.hit('k', { cost: 8 })
    clock.advance(250)
    // 5.5 tokens are owed, which is 6 used.
    const slower = withRule(make({ ...before, refill: 1 }))
    expect(slower.hit('k', { cost: 5 })).toMatchObject({ allowed: false, remaining: 4, retryAfterMs: 500 })
    expect(withRule(make({ ...before, refill: 100 })).peek('k', { cost: 5 }).retryAfterMs).toBe(5)
  })

  test('convert the debt exactly, also where both paces are so large that their product passes 2^53', () => {
    const large = fc.record({
      capacity: fc.constant(3),
      refill: fc.integer({ min: 1, max: 9 }),
      every: fc.integer({ min: 2 ** 40, max: 2 ** 45 }),
    })
    const paceOfRule = (rule: Rule): bigint => BigInt(rule.parameters.unitsPerToken as number)
    const drainOf = (rule: Rule): bigint => BigInt(rule.parameters.drainPerTick as number)
    const ceil = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor
    fc.assert(
      fc.property(large, large, fc.integer({ min: 1, max: 3 }), fc.nat({ max: 2 ** 31 }), (from, to, cost, pauseMs) => {
        const [old, next] = [NAMES[0][1](from), NAMES[0][1](to)]
        fc.pre(old.algorithm === next.algorithm)
        const { limiter, clock, withRule } = definedLimiter(old)
        limiter.hit('k', { cost })
        clock.advance(pauseMs)
        const owed = BigInt(cost) * paceOfRule(old) - BigInt(pauseMs) * drainOf(old)
        const waitMs = ceil(ceil(owed * paceOfRule(next), paceOfRule(old)), drainOf(next))
        expect(BigInt(withRule(next).peek('k', { cost: 3 }).retryAfterMs)).toBe(waitMs)
      }),
      runs(2000),
    )
  })

  test('the same rate with other options changes nothing', () => {
    const { limiter, clock, withRule } = definedLimiter(tokenBucket({ ...before, name: 'meter' }))
    limiter.hit('k', { cost: 8 })
    clock.advance(123)
    const same = withRule(tokenBucket({ capacity: 10, refill: 20, every: 2000, name: 'meter' }))
    expect(same.peek('k', { cost: 10 })).toEqual(limiter.peek('k', { cost: 10 }))
  })

  /** Returns the units used before and after a change of the rate, `pauseMs` after `cost` was spent. */
  const aroundChange = (make: (numbers: Numbers) => Rule, from: Numbers, to: Numbers, cost: number, pauseMs: number) => {
    const { limiter, clock, withRule } = definedLimiter(make(from))
    limiter.hit('k', { cost })
    clock.advance(pauseMs)
    return { before: limiter.get('k'), after: withRule(make(to)).get('k') }
  }

  test('keep the tokens owed where the old rate does not divide a millisecond', () => {
    const { before, after } = aroundChange(
      NAMES[0][1],
      { capacity: 10, refill: 3, every: 1000 },
      { capacity: 10, refill: 4, every: 1000 },
      1,
      0,
    )
    expect(after).toBe(before)
  })

  test('keep the tokens owed where many come back each millisecond', () => {
    const { before, after } = aroundChange(
      NAMES[0][1],
      { capacity: 100, refill: 100, every: 1 },
      { capacity: 100, refill: 50, every: 1 },
      1,
      0,
    )
    expect(after).toBe(before)
  })

  test('take no more than was owed from a stepped bucket', () => {
    const { before, after } = aroundChange(
      stepped,
      { capacity: 10, refill: 10, every: 1000 },
      { capacity: 10, refill: 20, every: 1000 },
      1,
      0,
    )
    expect(after).toBe(before)
  })

  test('free nothing of a stepped bucket', () => {
    const { before, after } = aroundChange(
      stepped,
      { capacity: 10, refill: 10, every: 1000 },
      { capacity: 10, refill: 5, every: 1000 },
      10,
      999,
    )
    expect(after).toBe(before)
  })

  test.each([...NAMES, ['stepped tokenBucket', stepped] as const])(
    'keep the tokens owed, whatever the numbers and the moment: %s',
    (_, make) => {
      const small = fc.record({
        capacity: fc.constant(1000),
        refill: fc.integer({ min: 1, max: 50 }),
        every: fc.integer({ min: 1, max: 1000 }),
      })
      fc.assert(
        fc.property(small, small, fc.integer({ min: 1, max: 1000 }), fc.nat(2000), (from, to, cost, pauseMs) => {
          const { before, after } = aroundChange(make, from, to, cost, pauseMs)
          expect(after).toBe(before)
        }),
        runs(200),
      )
    },
  )

  test('keep the tokens owed when the clock has stepped back too', () => {
    const { limiter, clock, withRule } = definedLimiter(tokenBucket({ ...before, name: 'meter' }))
    limiter.hit('k', { cost: 7 })
    clock.set(clock.now() - 3_600_000)
    const faster = withRule(tokenBucket({ ...before, refill: 20, name: 'meter' }))
    expect(faster.get('k')).toBe(7)
    expect(faster.peek('k', { cost: 10 }).retryAfterMs).toBe(350)
  })
})

describe('when the clock steps back', () => {
  test.each([...NAMES, ['stepped tokenBucket', stepped] as const])(
    'nothing comes back for the step, and then all goes on: %s',
    (_, make) => {
      const { limiter, clock } = definedLimiter(make({ capacity: 5, refill: 1, every: 100 }))
      limiter.hit('k', { cost: 5 })
      clock.set(clock.now() - 3_600_000)
      expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 100, resetAfterMs: 500 })
      clock.advance(99)
      expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
      clock.advance(1)
      expect(limiter.hit('k')).toMatchObject({ allowed: true, remaining: 0 })
    },
  )
})

describe('the width of a state', () => {
  const takes = (make: (numbers: Numbers) => Rule, refill: number, every: number) => {
    const { algorithm, width } = make({ capacity: 1, refill, every })
    return [algorithm, width]
  }

  test('is three cells, and four where the rate has more than 47 bits: then it is a state of another algorithm', () => {
    for (const [, make] of NAMES) {
      expect(takes(make, 1, 2 ** 47 - 1)).toEqual(['meter', 3])
      expect(takes(make, 1, 2 ** 47)).toEqual(['wide-meter', 4])
      expect(takes(make, 2 ** 20 - 1, 2 ** 26)).toEqual(['meter', 3])
      expect(takes(make, 2 ** 20 - 1, 2 ** 27)).toEqual(['wide-meter', 4])
    }
    expect(takes(stepped, 2 ** 20, 2 ** 27 - 1)).toEqual(['stepped-meter', 3])
    expect(takes(stepped, 2 ** 20 + 1, 2 ** 27 - 1)).toEqual(['wide-stepped-meter', 4])
  })
})

describe('a packed rate', () => {
  const rate = fc.tuple(fc.integer({ min: 0, max: 47 }), fc.nat(2 ** 47), fc.nat(2 ** 47)).map(([bits, a, b]) => {
    const drainPerTick = 1 + (b % 2 ** bits)
    return [Math.max(1, a % 2 ** (47 - bits)), drainPerTick] as const
  })

  test('is unpacked exactly, and no two rates share a number', () => {
    fc.assert(
      fc.property(rate, rate, (a, b) => {
        for (const [pace, drainPerTick] of [a, b]) {
          const packed = packRate(pace, drainPerTick)
          if (packed === 0) continue
          expect(Number.isSafeInteger(packed)).toBe(true)
          expect([paceOf(packed), drainPerTickOf(packed)]).toEqual([pace, drainPerTick])
        }
        if (packRate(...a) === packRate(...b) && packRate(...a) !== 0) expect(a).toEqual(b)
      }),
      runs(2000),
    )
  })

  test('is a number of its own for each of all small rates', () => {
    const packed = new Set<number>()
    for (let pace = 1; pace <= 100; pace++) for (let drain = 1; drain <= 100; drain++) packed.add(packRate(pace, drain))
    expect(packed.size).toBe(10_000)
    expect(packed.has(0)).toBe(false)
  })
})

describe('take', () => {
  const cost = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 1100 }))
  const pause = fc.oneof(fc.constant(0), fc.nat(20), fc.nat(1200), fc.integer({ min: -500, max: -1 }))
  const steps = fc.array(fc.record({ pause, cost, isHit: fc.boolean(), isOther: fc.nat(9) }), { minLength: 1, maxLength: 30 })

  test.each([...NAMES, ['stepped tokenBucket', stepped] as const])('does what its parts do: %s', (_, make) => {
    const some = fc.oneof(numbers, wideNumbers).map((of) => make(of))
    const rules = fc.tuple(some, some).filter(([own, other]) => own.width === other.width)
    fc.assert(
      fc.property(rules, fc.constantFrom(1000, 1.7e12), steps, ([own, other], startMs, steps) => {
        const taken = new Float64Array(own.width + 1)
        const parted = new Float64Array(own.width + 1)
        let nowMs: number = startMs
        for (const { pause, cost, isHit, isOther } of steps) {
          const rule = isOther === 0 ? other : own
          nowMs = Math.max(0, nowMs + Math.floor((rule.windowMs * pause) / 1000))
          const units = 1 + Math.floor((rule.limit * cost) / 1000)
          if (isHit) {
            expect(rule.take(taken, 1, nowMs, units)).toBe(takeByParts(rule, parted, 1, nowMs, units))
          } else {
            for (const cells of [taken, parted]) {
              rule.settle(cells, 1, nowMs)
              rule.spend(cells, 1, nowMs, units)
            }
          }
          expect(taken).toEqual(parted)
        }
      }),
      runs(500),
    )
  })

  test('is exact where what is owed and the cost together pass 2^53 before it drains', () => {
    const rule = tokenBucket({ capacity: MAX, refill: 2 ** 45 + 1, every: 1 })
    const cells = new Float64Array(3)
    rule.take(cells, 0, 1000, MAX)
    expect(rule.take(cells, 0, 1001, 2)).toBe(0)
    expect(rule.used(cells, 0, 1001)).toBe(MAX - 2 ** 45 + 1)
  })

  test('writes the whole state of a wide stepped bucket, also in the first step since the epoch', () => {
    const rule = stepped({ capacity: 5, refill: 3, every: 2 ** 46 })
    const cells = new Float64Array(4)
    expect(rule.take(cells, 0, 1000, 2)).toBe(0)
    expect([...cells]).toEqual([1000 + 2 ** 46, 2, 2 ** 46, 3])
  })
})
