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
import { type LeakyBucketOptions, leakyBucket } from './leaky-bucket.ts'

interface Numbers {
  readonly capacity: number
  readonly leak: number
  readonly every: number
}

interface Level {
  readonly level: bigint
  readonly sinceMs: number
}

/** Counts the level in drops: a unit is `every` drops, and `leak` drops fall in each millisecond. */
function modelOf({ capacity, leak, every }: Numbers): Model<Level> {
  const drops = (units: number): bigint => BigInt(units) * BigInt(every)
  const notBelowEmpty = (level: bigint): bigint => (level > 0n ? level : 0n)
  return {
    limit: capacity,
    fresh: { level: 0n, sinceMs: 0 },
    settle({ level, sinceMs }, nowMs) {
      // Nothing leaks while the clock runs backwards.
      const leaked = nowMs > sinceMs ? BigInt(nowMs - sinceMs) * BigInt(leak) : 0n
      return { level: notBelowEmpty(level - leaked), sinceMs: nowMs }
    },
    // A unit counts as used from its first drop on.
    used: ({ level }) => Number(level / BigInt(every)) + (level % BigInt(every) > 0n ? 1 : 0),
    allows: ({ level }, _, cost) => level + drops(cost) <= drops(capacity),
    isNew: ({ level }) => level === 0n,
    spend: ({ level, sinceMs }, _, cost) => ({ level: level + drops(cost), sinceMs }),
    put: (_, nowMs, used) => ({ level: drops(used), sinceMs: nowMs }),
    refund: ({ level, sinceMs }, _, cost) => ({ level: notBelowEmpty(level - drops(cost)), sinceMs }),
  }
}

describe('leakyBucket', () => {
  const draw = (most: number, mostMs: number) => (random: Random) => {
    const numbers = { capacity: random.whole(1, most), leak: random.whole(1, most), every: random.whole(1, mostMs) }
    return { rule: leakyBucket(numbers), model: modelOf(numbers) }
  }
  const rules = fc
    .record({ capacity: anyLimit, leak: anyLimit, every: anyWindowMs })
    .map(({ capacity, leak, every }) => leakyBucket({ capacity: Math.min(capacity, Math.floor(2 ** 46 / every)), leak, every }))

  test('answers as the exact level does', () => walkModel(draw(9, 15)))
  test('answers as it does when the clock steps back too', () => walkModel(draw(9, 15), { stepsBack: true }))
  test('answers as it does where units leak faster than milliseconds', () => walkModel(draw(60, 3), { stepsBack: true }))
  test('answers as it does with years between drops', () =>
    walkModel(draw(100, TEN_YEARS_MS / 100), { stepsBack: true, waits: 'edges', rules: 40 }))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  withstandsStepsBack(rules, waitAfterPut)

  test.each([
    { capacity: 2, leak: 1, every: 3 },
    { capacity: 3, leak: 3, every: 4 },
    { capacity: 4, leak: 5, every: 2 },
  ])('lets its capacity and ⌊leak·t/every⌋ through within t ms: $capacity, leaking $leak per $every ms', (of) => {
    for (let t = 0; t <= 2 * of.every; t++) {
      expect(mostLetThrough(leakyBucket(of), t + 1, 2 * of.every)).toBe(of.capacity + Math.floor((of.leak * t) / of.every))
    }
  })

  test('denies a hit that would make it overflow, and leaks', () => {
    const { limiter, clock } = definedLimiter(leakyBucket({ capacity: 3, leak: 1, every: 100 }))
    expect(limiter.hit('k', { cost: 3 })).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 300 })
    expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 100 })
    clock.advance(250)
    expect([limiter.get('k'), limiter.peek('k', { cost: 2 }).allowed, limiter.peek('k', { cost: 3 }).allowed]).toEqual([
      1,
      true,
      false,
    ])
  })

  test.each([{ capacity: 0 }, { leak: 0 }, { leak: 0.5 }])('%j is refused', (option) => {
    expect(() => leakyBucket({ capacity: 1, leak: 1, every: 1, ...option })).toThrow(
      expect.objectContaining({ code: 'ERR_RULE' }),
    )
  })

  test('an unknown option is refused', () => {
    const options = { capacity: 1, refill: 1, every: 1 } as unknown as LeakyBucketOptions
    expect(() => leakyBucket(options)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  })
})
