import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definedLimiter } from '../../../test/defined-limiter.ts'
import { type Model, walkModel } from '../../../test/model-walk.ts'
import {
  anyLimit,
  anyWindowMs,
  keepsItsPromises,
  leavesNoTraceOfDeniedHits,
  TEN_YEARS_MS,
  waitAfterPut,
  withstandsStepsBack,
} from '../../../test/rule-promises.ts'
import { mostLetThrough } from '../../../test/worst-case.ts'
import type { Random } from '../../testing/random.ts'
import { type TokenBucketOptions, tokenBucket } from './token-bucket.ts'

type Numbers = TokenBucketOptions & { readonly every: number }

interface Bucket {
  readonly tokens: bigint
  readonly sinceMs: number
}

/** Counts in fractions of a token, of 1/`every` each. `refill` of them come back in each millisecond. */
function smoothModelOf(numbers: Numbers): Model<Bucket> {
  const [capacity, refill, every] = [BigInt(numbers.capacity), BigInt(numbers.refill), BigInt(numbers.every)]
  const full = capacity * every
  const atMost = (tokens: bigint, most: bigint): bigint => (tokens < most ? tokens : most)
  return {
    limit: numbers.capacity,
    fresh: { tokens: full, sinceMs: 0 },
    settle({ tokens, sinceMs }, nowMs) {
      // If time runs backwards, the tokens stay the same.
      const passedMs = BigInt(Math.max(0, nowMs - sinceMs))
      return { tokens: atMost(tokens + passedMs * refill, full), sinceMs: nowMs }
    },
    used: ({ tokens }) => Number((full - tokens + every - 1n) / every),
    allows: ({ tokens }, _, cost) => tokens >= BigInt(cost) * every,
    isNew: ({ tokens }) => tokens === full,
    spend: ({ tokens, sinceMs }, _, cost) => ({ tokens: tokens - BigInt(cost) * every, sinceMs }),
    put: (_, nowMs, used) => ({ tokens: full - BigInt(used) * every, sinceMs: nowMs }),
    refund: ({ tokens, sinceMs }, _, cost) => ({ tokens: atMost(tokens + BigInt(cost) * every, full), sinceMs }),
  }
}

/** Counts whole tokens, and refills step by step. */
function steppedModelOf({ capacity, refill, every }: Numbers): Model<Bucket> {
  const full = BigInt(capacity)
  const atMostFull = (tokens: bigint): bigint => (tokens < full ? tokens : full)
  return {
    limit: capacity,
    fresh: { tokens: full, sinceMs: 0 },
    settle({ tokens, sinceMs }, nowMs) {
      while (tokens < full && sinceMs + every <= nowMs) {
        tokens = atMostFull(tokens + BigInt(refill))
        sinceMs += every
      }
      // The steps of a full bucket begin with its next hit. After a step back of the clock, the next step is a whole `every` away.
      return { tokens, sinceMs: tokens === full || nowMs < sinceMs ? nowMs : sinceMs }
    },
    used: ({ tokens }) => Number(full - tokens),
    allows: ({ tokens }, _, cost) => tokens >= BigInt(cost),
    isNew: ({ tokens }) => tokens === full,
    spend: ({ tokens, sinceMs }, _, cost) => ({ tokens: tokens - BigInt(cost), sinceMs }),
    put: (_, nowMs, used) => ({ tokens: full - BigInt(used), sinceMs: nowMs }),
    refund: ({ tokens, sinceMs }, _, cost) => ({ tokens: atMostFull(tokens + BigInt(cost)), sinceMs }),
  }
}

const STYLES = [
  ['smooth', smoothModelOf],
  ['stepped', steppedModelOf],
] as const

describe.each(STYLES)('tokenBucket, %s', (style, modelOf) => {
  const draw = (most: number, mostMs: number) => (random: Random) => {
    const [capacity, refill] = [random.whole(1, most), random.whole(1, most)]
    const options = { capacity, refill, every: random.whole(1, mostMs), style }
    return { rule: tokenBucket(options), model: modelOf(options) }
  }
  const rules = fc
    .record({ capacity: anyLimit, refill: anyLimit, every: anyWindowMs })
    .map(({ capacity, refill, every }) =>
      tokenBucket({ capacity: Math.min(capacity, Math.floor(2 ** 46 / every)), refill, every, style }),
    )

  test('answers as exact fractions of tokens do', () => walkModel(draw(9, 15)))
  test('answers as they do when the clock steps back too', () => walkModel(draw(9, 15), { stepsBack: true }))
  test('answers as they do where tokens come faster than milliseconds', () => walkModel(draw(60, 3), { stepsBack: true }))
  test('answers as they do with years between tokens', () =>
    walkModel(draw(100, TEN_YEARS_MS / 100), { stepsBack: true, waits: 'edges', rules: 40 }))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  withstandsStepsBack(rules, waitAfterPut)
})

describe('the most that a token bucket lets through from one hit to another, t milliseconds later', () => {
  const numbers = [
    { capacity: 2, refill: 1, every: 1 },
    { capacity: 2, refill: 1, every: 3 },
    { capacity: 2, refill: 2, every: 3 },
    { capacity: 3, refill: 3, every: 4 },
    { capacity: 3, refill: 4, every: 5 },
    { capacity: 4, refill: 5, every: 2 },
  ]
  const most = (of: Numbers, t: number): number => mostLetThrough(tokenBucket(of), t + 1, 2 * of.every)

  test.each(numbers)('is capacity + ⌊refill·t/every⌋, smooth: $capacity + $refill per $every ms', (of) => {
    for (let t = 0; t <= 2 * of.every + 1; t++) {
      expect(most({ ...of, style: 'smooth' }, t)).toBe(of.capacity + Math.floor((of.refill * t) / of.every))
    }
  })

  // The first hit starts the steps and takes a token, so a full bucket just before a step is one token short of full.
  test.each(numbers.filter(({ capacity, refill }) => refill <= capacity))(
    'is capacity + refill·t/every at whole steps, else capacity − 1 + refill·⌈t/every⌉, stepped: $capacity + $refill per $every ms',
    (of) => {
      for (let t = 0; t <= 2 * of.every + 1; t++) {
        const steps = Math.ceil(t / of.every)
        const expected = of.capacity + of.refill * steps - (t % of.every === 0 ? 0 : 1)
        expect(most({ ...of, style: 'stepped' }, t)).toBe(expected)
      }
    },
  )

  test.each([
    { capacity: 2, refill: 3, every: 3 },
    { capacity: 3, refill: 50, every: 4 },
  ])('is 2·capacity − 1 in one `every` where a step fills the bucket: $capacity + $refill per $every ms', (of) => {
    expect(most({ ...of, style: 'stepped' }, of.every - 1)).toBe(2 * of.capacity - 1)
  })

  test('is less if the bucket is full before it can be emptied', () => {
    expect(most({ capacity: 1, refill: 10, every: 1 }, 3)).toBe(4)
    expect(most({ capacity: 1, refill: 10, every: 1, style: 'stepped' }, 3)).toBe(4)
    expect(most({ capacity: 1, refill: 2, every: 3 }, 3)).toBe(2)
    // The bucket is full after 1.1 ms. The rest of the second millisecond brings no more tokens.
    expect(most({ capacity: 1, refill: 9, every: 10 }, 9)).toBe(5)
  })

  test('is a burst and then every token as it comes', () => {
    const { limiter, clock } = definedLimiter(tokenBucket({ capacity: 20, refill: 7, every: 1000 }))
    let passed = 0
    for (let t = 0; t <= 3000; t++) {
      while (limiter.hit('k').allowed) passed++
      expect(passed).toBe(20 + Math.floor((7 * t) / 1000))
      clock.advance(1)
    }
  })
})

describe('tokenBucket, in known numbers', () => {
  test('steps come at whole `every`s since the first token was taken', () => {
    const { limiter, clock } = definedLimiter(tokenBucket({ capacity: 5, refill: 2, every: 1000, style: 'stepped' }))
    limiter.hit('k')
    clock.advance(700)
    limiter.hit('k', { cost: 4 })
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 300, resetAfterMs: 2300 })
    expect(limiter.hit('k', { cost: 3 })).toMatchObject({ allowed: false, retryAfterMs: 1300 })
    clock.advance(299)
    expect(limiter.get('k')).toBe(5)
    clock.advance(1)
    expect(limiter.get('k')).toBe(3)
  })

  test('a step that would overflow fills the bucket and no more', () => {
    const { limiter, clock } = definedLimiter(tokenBucket({ capacity: 5, refill: 100, every: 1000, style: 'stepped' }))
    limiter.hit('k', { cost: 5 })
    clock.advance(1000)
    expect(limiter.peek('k')).toMatchObject({ remaining: 5, resetAfterMs: 0 })
  })

  test('a debt of inc() is paid back before anything is allowed', () => {
    const { limiter, clock } = definedLimiter(tokenBucket({ capacity: 5, refill: 1, every: 100 }))
    expect(limiter.inc('k', 8)).toBe(8)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 400, resetAfterMs: 800 })
    clock.advance(400)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('one token in ten years takes ten years', () => {
    const { limiter, clock } = definedLimiter(tokenBucket({ capacity: 1, refill: 1, every: '3650d' }))
    limiter.hit('k')
    clock.advance(TEN_YEARS_MS - 1)
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(limiter.hit('k').allowed).toBe(true)
  })

  test('2^31 tokens can be taken, one by one or at once', () => {
    const { limiter } = definedLimiter(tokenBucket({ capacity: 2 ** 31, refill: 1, every: 1000 }))
    expect(limiter.hit('k', { cost: 2 ** 31 - 1 })).toMatchObject({ allowed: true, remaining: 1 })
    expect(limiter.hit('k')).toMatchObject({ allowed: true, remaining: 0 })
    expect(limiter.hit('k', { cost: 2 ** 31 })).toMatchObject({ allowed: false, retryAfterMs: 2 ** 31 * 1000 })
  })

  test.each([{ capacity: 0 }, { refill: 0 }, { capacity: 1.5 }, { refill: -1 }, { style: 'jerky' }, { name: '' }])(
    '%j is refused',
    (option) => {
      const options = { capacity: 1, refill: 1, every: 1, ...option } as unknown as Numbers
      expect(() => tokenBucket(options)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
    },
  )

  test('the two styles do not share states under one name', () => {
    const { limiter, withRule } = definedLimiter(tokenBucket({ capacity: 5, refill: 1, every: 1000, name: 'api' }))
    limiter.hit('k', { cost: 5 })
    const stepped = withRule(tokenBucket({ capacity: 5, refill: 1, every: 1000, name: 'api', style: 'stepped' }))
    expect(stepped.get('k')).toBe(0)
  })
})
