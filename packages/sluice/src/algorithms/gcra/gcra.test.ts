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
import { type GcraOptions, gcra } from './gcra.ts'

const MAX = Number.MAX_SAFE_INTEGER

interface Numbers {
  readonly limit: number
  readonly period: number
  readonly burst: number
}

/** The theoretical arrival time of the next cell, and the time of the last settling. Both are multiples of 1/limit ms. */
interface Arrival {
  readonly tat: bigint
  readonly seen: bigint
}

/** GCRA as in textbooks: cells arrive `period/limit` ms apart, and may come early by up to `burst` of those intervals. */
function modelOf(numbers: Numbers): Model<Arrival> {
  // Between two cells are `period/limit` ms, which is `period` times 1/limit ms.
  const interval = BigInt(numbers.period)
  const tolerance = BigInt(numbers.burst) * interval
  const at = (nowMs: number): bigint => BigInt(nowMs) * BigInt(numbers.limit)
  const later = (a: bigint, b: bigint): bigint => (a > b ? a : b)
  return {
    limit: numbers.burst,
    fresh: { tat: 0n, seen: 0n },
    settle({ tat, seen }, nowMs) {
      // If the clock stepped back, the arrival time steps back by as much. So it stays as far away as before.
      const moved = seen > at(nowMs) ? tat - (seen - at(nowMs)) : tat
      return { tat: later(moved, at(nowMs)), seen: at(nowMs) }
    },
    used: ({ tat, seen }) => Number((tat - seen + interval - 1n) / interval),
    allows: ({ tat }, nowMs, cost) => tat + BigInt(cost) * interval - tolerance <= at(nowMs),
    isNew: ({ tat }, nowMs) => tat === at(nowMs),
    spend: ({ tat, seen }, _, cost) => ({ tat: tat + BigInt(cost) * interval, seen }),
    put: (_, nowMs, used) => ({ tat: at(nowMs) + BigInt(used) * interval, seen: at(nowMs) }),
    refund: ({ tat, seen }, _, cost) => ({ tat: later(seen, tat - BigInt(cost) * interval), seen }),
  }
}

describe('gcra', () => {
  const draw = (most: number, mostMs: number) => (random: Random) => {
    const numbers = { limit: random.whole(1, most), period: random.whole(1, mostMs), burst: random.whole(1, most) }
    return { rule: gcra(numbers), model: modelOf(numbers) }
  }
  const rules = fc
    .record({ limit: anyLimit, period: anyWindowMs, burst: anyLimit })
    .map(({ limit, period, burst }) => gcra({ limit, period, burst: Math.min(burst, Math.floor(2 ** 46 / period)) }))

  test('answers as the theoretical arrival time does', () => walkModel(draw(9, 15)))
  test('answers as it does when the clock steps back too', () => walkModel(draw(9, 15), { stepsBack: true }))
  test('answers as it does where cells come faster than milliseconds', () => walkModel(draw(60, 3), { stepsBack: true }))
  test('answers as it does with years between cells', () =>
    walkModel(draw(100, TEN_YEARS_MS / 100), { stepsBack: true, waits: 'edges', rules: 40 }))

  keepsItsPromises(rules)
  leavesNoTraceOfDeniedHits(rules)
  withstandsStepsBack(rules, waitAfterPut)

  test.each([
    { limit: 1, period: 3, burst: 2 },
    { limit: 2, period: 3, burst: 2 },
    { limit: 3, period: 4, burst: 3 },
    { limit: 5, period: 2, burst: 4 },
  ])('lets the burst and ⌊limit·t/period⌋ through within t ms: $limit per $period ms, burst $burst', (of) => {
    for (let t = 0; t <= 2 * of.period; t++) {
      expect(mostLetThrough(gcra(of), t + 1, 2 * of.period)).toBe(of.burst + Math.floor((of.limit * t) / of.period))
    }
  })

  test('has a burst of its limit by default', () => {
    const { limiter } = definedLimiter(gcra({ limit: 7, period: '1s' }))
    expect(limiter.hit('k', { cost: 7 })).toMatchObject({ allowed: true, limit: 7, remaining: 0 })
    expect(limiter.hit('k').retryAfterMs).toBe(Math.ceil(1000 / 7))
  })

  test('without a burst, spaces cells evenly, each at the first whole millisecond', () => {
    const { limiter, clock } = definedLimiter(gcra({ limit: 3, period: 1000, burst: 1 }))
    const passedAt: number[] = []
    const startMs = clock.now()
    for (let ms = 0; ms <= 1000; ms++) {
      if (limiter.hit('k').allowed) passedAt.push(clock.now() - startMs)
      clock.advance(1)
    }
    // Each cell passes two thirds of a millisecond late. Without a burst, the next cell does not make up for this time.
    expect(passedAt).toEqual([0, 334, 668])
  })

  test.each([{ limit: 0 }, { burst: 0 }, { burst: 1.5 }, { limit: MAX + 1 }])('%j is refused', (option) => {
    expect(() => gcra({ limit: 1, period: 1, ...option })).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })

  test('an unknown option is refused', () => {
    const options = { limit: 1, every: 1 } as unknown as GcraOptions
    expect(() => gcra(options)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  })
})
