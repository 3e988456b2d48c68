// The guarantees of every rule, as properties over random options and random traffic.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/rounds.ts'
import type { Rule } from '../src/core/rule.ts'
import { fakeClock } from '../src/testing/fake-clock.ts'
import { type DefinedLimiter, definedLimiter } from './defined-limiter.ts'

/** A hit after a pause, both in thousandths of the rule's limit and window, so that any traffic fits any rule. */
interface TrafficStep {
  readonly pause: number
  readonly cost: number
}

const pause = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 0, max: 400 }),
  fc.integer({ min: 900, max: 2100 }),
)
const cost = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 1000 }))
const traffic = fc.array(fc.record({ pause, cost }), { minLength: 1, maxLength: 25 })

/** From a window of one millisecond to one of ten years. */
export const TEN_YEARS_MS = 3650 * 86_400_000
export const anyWindowMs = fc.oneof(
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 100_000 }),
  fc.integer({ min: 1, max: TEN_YEARS_MS }),
)
export const anyLimit = fc.oneof(
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1, max: 200 }),
  fc.integer({ min: 1, max: 2 ** 31 }),
)

/** fast-check prints its seed and path itself; SEED makes it the same run again. */
export function runs(usual: number): fc.Parameters<unknown> {
  const numRuns = roundsOf({ usual, long: 10 * usual })
  return process.env.SEED === undefined ? { numRuns } : { numRuns, seed: Number(process.env.SEED) }
}

/** A cost from 1 to one above the limit. */
function costOf({ limit }: Rule, thousandths: number): number {
  return 1 + Math.floor((limit * thousandths) / 1000)
}

function pauseMsOf({ windowMs }: Rule, thousandths: number): number {
  return Math.floor((windowMs * thousandths) / 1000)
}

/** A limiter after some traffic. */
function afterTraffic(rule: Rule, steps: readonly TrafficStep[]): DefinedLimiter {
  const defined = definedLimiter(rule)
  for (const step of steps) {
    defined.clock.advance(pauseMsOf(rule, step.pause))
    defined.limiter.hit('k', { cost: costOf(rule, step.cost) })
  }
  return defined
}

/** Reads everything about a key, without changing it. */
function figuresOf({ limiter }: DefinedLimiter): unknown {
  const { limit } = limiter.rules[0]
  const costs = [0, 1, Math.ceil(limit / 2), limit, limit + 1]
  return [limiter.get('k'), limiter.expiresAt('k'), costs.map((cost) => JSON.stringify(limiter.peek('k', { cost })))]
}

/** The promises of a decision, while the clock runs forward. */
export function keepsItsPromises(rules: fc.Arbitrary<Rule>): void {
  describe('keeps its promises, whatever its numbers', () => {
    test('the wait is exact: denied one millisecond before, allowed after', () => {
      fc.assert(
        fc.property(rules, traffic, cost, (rule, steps, thousandths) => {
          const { limiter, clock } = afterTraffic(rule, steps)
          const wanted = Math.min(rule.limit, costOf(rule, thousandths))
          const { allowed, retryAfterMs } = limiter.peek('k', { cost: wanted })
          expect(allowed).toBe(retryAfterMs === 0)
          if (allowed) return
          clock.advance(retryAfterMs - 1)
          expect(limiter.peek('k', { cost: wanted })).toMatchObject({ allowed: false, retryAfterMs: 1 })
          clock.advance(1)
          expect(limiter.hit('k', { cost: wanted })).toMatchObject({ allowed: true, retryAfterMs: 0 })
        }),
        runs(120),
      )
    })

    test('a wait gets shorter by exactly the time that passes', () => {
      fc.assert(
        fc.property(rules, traffic, fc.integer({ min: 0, max: 999 }), (rule, steps, thousandths) => {
          const { limiter, clock } = afterTraffic(rule, steps)
          const { retryAfterMs } = limiter.peek('k', { cost: rule.limit })
          const passedMs = Math.floor((retryAfterMs * thousandths) / 1000)
          clock.advance(passedMs)
          expect(limiter.peek('k', { cost: rule.limit }).retryAfterMs).toBe(retryAfterMs - passedMs)
        }),
        runs(60),
      )
    })

    test('what remains can be spent at once, and not one unit more', () => {
      fc.assert(
        fc.property(rules, traffic, pause, (rule, steps, thousandths) => {
          const { limiter, clock } = afterTraffic(rule, steps)
          clock.advance(pauseMsOf(rule, thousandths))
          const { remaining } = limiter.peek('k', { cost: 0 })
          expect(remaining).toBe(Math.max(0, rule.limit - limiter.get('k')))
          expect(limiter.peek('k', { cost: remaining + 1 }).allowed).toBe(false)
          if (remaining > 0) expect(limiter.hit('k', { cost: remaining })).toMatchObject({ allowed: true, remaining: 0 })
        }),
        runs(120),
      )
    })

    test('after resetAfterMs, and not before, the key is as if it had never been hit', () => {
      fc.assert(
        fc.property(rules, traffic, (rule, steps) => {
          const { limiter, clock } = afterTraffic(rule, steps)
          const { resetAfterMs } = limiter.peek('k')
          expect(limiter.expiresAt('k')).toBe(resetAfterMs === 0 ? 0 : clock.now() + resetAfterMs)
          if (resetAfterMs === 0) return
          clock.advance(resetAfterMs - 1)
          expect(limiter.expiresAt('k')).toBe(clock.now() + 1)
          clock.advance(1)
          expect([limiter.expiresAt('k'), limiter.get('k')]).toEqual([0, 0])
          expect(limiter.peek('k', { cost: rule.limit })).toMatchObject({ allowed: true, resetAfterMs: 0 })
        }),
        runs(60),
      )
    })

    test('a cost above the limit never passes, whatever the wait', () => {
      fc.assert(
        fc.property(rules, traffic, (rule, steps) => {
          const { limiter } = afterTraffic(rule, steps)
          const decision = limiter.hit('k', { cost: rule.limit + 1 })
          expect(decision).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY })
        }),
        runs(40),
      )
    })

    test('a peek changes nothing', () => {
      fc.assert(
        fc.property(rules, traffic, (rule, steps) => {
          const watched = definedLimiter(rule)
          const alone = definedLimiter(rule)
          for (const step of steps) {
            for (const { clock } of [watched, alone]) clock.advance(pauseMsOf(rule, step.pause))
            figuresOf(watched)
            const options = { cost: costOf(rule, step.cost) }
            expect(watched.limiter.hit('k', options)).toEqual(alone.limiter.hit('k', options))
          }
          expect(figuresOf(watched)).toEqual(figuresOf(alone))
        }),
        runs(40),
      )
    })

    test('what is refunded at once is as if it had not been spent', () => {
      fc.assert(
        fc.property(rules, traffic, cost, (rule, steps, thousandths) => {
          const { limiter } = afterTraffic(rule, steps)
          const wanted = costOf(rule, thousandths)
          const used = limiter.get('k')
          if (limiter.hit('k', { cost: wanted }).allowed) expect(limiter.refund('k', wanted)).toBe(used)
        }),
        runs(60),
      )
    })

    test('a refund never goes above full', () => {
      fc.assert(
        fc.property(rules, traffic, (rule, steps) => {
          const { limiter } = afterTraffic(rule, steps)
          limiter.refund('k', Number.MAX_SAFE_INTEGER)
          expect(limiter.get('k')).toBe(0)
          expect(limiter.peek('k', { cost: rule.limit + 1 }).allowed).toBe(false)
        }),
        runs(40),
      )
    })
  })
}

/** For rules that do not count denied hits. */
export function leavesNoTraceOfDeniedHits(rules: fc.Arbitrary<Rule>): void {
  test('a denied hit leaves no trace, whatever the numbers', () => {
    fc.assert(
      fc.property(rules, traffic, (rule, steps) => {
        const insistent = definedLimiter(rule)
        const polite = definedLimiter(rule)
        for (const step of steps) {
          for (const { clock } of [insistent, polite]) clock.advance(pauseMsOf(rule, step.pause))
          const options = { cost: costOf(rule, step.cost) }
          // The polite client peeks first, and does not hit if it would be denied.
          if (polite.limiter.peek('k', options).allowed) polite.limiter.hit('k', options)
          insistent.limiter.hit('k', options)
          insistent.limiter.hit('k', { cost: rule.limit + 1 })
        }
        expect(figuresOf(insistent)).toEqual(figuresOf(polite))
      }),
      runs(60),
    )
  })
}

const stepBackMs = fc.oneof(
  fc.record({ windows: fc.integer({ min: 0, max: 3000 }), ms: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ windows: fc.constant(0), ms: fc.integer({ min: 1, max: 3_600_000 }) }),
)

/**
 * For rules that share a name and do not count denied hits: after some traffic under one, and perhaps
 * a step back of the clock, another takes over. `expectKept` is given what get() said before and after.
 */
export function aroundNewOptions(
  rules: fc.Arbitrary<Rule>,
  expectKept: (before: number, after: number, from: Rule, to: Rule) => void,
): void {
  fc.assert(
    fc.property(rules, rules, traffic, pause, fc.option(stepBackMs), (from, to, steps, idle, back) => {
      const { limiter, clock, withRule } = afterTraffic(from, steps)
      clock.advance(pauseMsOf(from, idle))
      if (back !== null) clock.set(Math.max(0, clock.now() - pauseMsOf(from, back.windows) - back.ms))
      const before = limiter.get('k')
      const renumbered = withRule(to)
      expectKept(before, renumbered.get('k'), from, to)

      // Whatever the state was, from the first hit on it is one of the new rule's own: waits are exact again.
      const first = renumbered.hit('k', { cost: to.limit })
      const second = renumbered.hit('k', { cost: to.limit })
      expect(second).toMatchObject({ allowed: false })
      if (first.allowed) expect(first.retryAfterMs).toBe(0)
      else expect(first.retryAfterMs).toBe(second.retryAfterMs)
      expect(second.retryAfterMs).toBeGreaterThanOrEqual(1)
      expect(second.resetAfterMs).toBeGreaterThanOrEqual(second.retryAfterMs)
      clock.advance(second.retryAfterMs - 1)
      expect(renumbered.peek('k', { cost: to.limit }).allowed).toBe(false)
      clock.advance(1)
      expect(renumbered.peek('k', { cost: to.limit }).allowed).toBe(true)
    }),
    runs(200),
  )
}

/** Calls `check` with a limiter before and the same after its clock has stepped back. */
export function aroundStepBack(
  rules: fc.Arbitrary<Rule>,
  check: (rule: Rule, before: DefinedLimiter, after: DefinedLimiter) => void,
): void {
  fc.assert(
    fc.property(rules, traffic, pause, stepBackMs, (rule, steps, idle, back) => {
      const [before, after] = [afterTraffic(rule, steps), afterTraffic(rule, steps)]
      for (const { clock } of [before, after]) clock.advance(pauseMsOf(rule, idle))
      after.clock.set(Math.max(0, after.clock.now() - pauseMsOf(rule, back.windows) - back.ms))
      check(rule, before, after)
    }),
    runs(150),
  )
}

/** Stepping back and hitting at once must never allow more than hitting without the step. */
export function expectNoQuotaFreed(rule: Rule, before: DefinedLimiter, after: DefinedLimiter): void {
  const { remaining } = before.limiter.peek('k', { cost: 0 })
  expect(after.limiter.peek('k', { cost: 0 }).remaining).toBeLessThanOrEqual(remaining)
  if (remaining < rule.limit) expect(after.limiter.hit('k', { cost: remaining + 1 }).allowed).toBe(false)
}

/** `longestWaitMs`: the longest that this rule could make anyone wait for a count of `used` written just now. */
export function withstandsStepsBack(rules: fc.Arbitrary<Rule>, longestWaitMs: (rule: Rule, used: number) => number): void {
  describe('when the clock steps back', () => {
    test('no quota is freed', () => aroundStepBack(rules, expectNoQuotaFreed))

    test('no wait gets longer than if the same had been spent just now', () => {
      aroundStepBack(rules, (rule, _, { limiter }) => {
        const longestMs = longestWaitMs(rule, limiter.get('k'))
        expect(limiter.peek('k').retryAfterMs).toBeLessThanOrEqual(longestMs)
        expect(limiter.peek('k', { cost: rule.limit }).retryAfterMs).toBeLessThanOrEqual(longestMs)
        expect(limiter.hit('k', { cost: rule.limit }).retryAfterMs).toBeLessThanOrEqual(longestMs)
      })
    })

    test('waits stay exact', () => {
      aroundStepBack(rules, (rule, _, { limiter, clock }) => {
        const { allowed, retryAfterMs } = limiter.hit('k', { cost: rule.limit })
        if (allowed) return
        clock.advance(retryAfterMs - 1)
        expect(limiter.peek('k', { cost: rule.limit }).allowed).toBe(false)
        clock.advance(1)
        expect(limiter.peek('k', { cost: rule.limit }).allowed).toBe(true)
      })
    })
  })
}

/** Returns the wait of a key for the whole limit, after `used` units were set just now. */
export function waitAfterPut(rule: Rule, used: number): number {
  const { limiter } = definedLimiter(rule, fakeClock())
  limiter.set('k', used)
  return limiter.peek('k', { cost: rule.limit }).retryAfterMs
}
