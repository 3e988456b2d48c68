// Known answers: their types, and a function that replays one on a limiter.

import type { RuleSpec } from '../algorithms/catalogue.ts'
import type { Decision } from '../core/decision.ts'
import type { Limiter } from '../core/limiter.ts'
import type { FakeClock } from './fake-clock.ts'

export interface KnownDecision {
  readonly allowed: boolean
  readonly remaining?: number
  /** `'never'` means Infinity, which JSON does not have. */
  readonly retryAfterMs?: number | 'never'
  readonly resetAfterMs?: number
  /** Result of get() after the step. */
  readonly used?: number
}

export type KnownStep = { readonly at: number; readonly key?: string } & (
  | { readonly do: 'hit' | 'peek'; readonly cost: number; readonly expect: KnownDecision }
  | { readonly do: 'inc'; readonly cost: number; readonly expect: number }
  | { readonly do: 'set'; readonly used: number; readonly expect: number }
  | { readonly do: 'get' | 'expiresAt'; readonly expect: number }
)

export interface KnownAnswer {
  readonly name: string
  /** The rule, for `makeRule` of `sluice/rules`. Every duration is in milliseconds. */
  readonly rule: RuleSpec
  readonly steps: readonly KnownStep[]
}

/** Replays the steps of a known answer on a limiter with its rule. Throws at the first answer that differs. */
export async function replay(answer: KnownAnswer, limiter: Limiter, clock: FakeClock): Promise<void> {
  for (const [i, step] of answer.steps.entries()) {
    clock.set(step.at)
    const key = step.key ?? 'k'
    const where = `${answer.name}, step ${i + 1}: ${step.do} at ${step.at}`
    switch (step.do) {
      case 'hit':
      case 'peek':
        compare(where, await limiter[step.do](key, { cost: step.cost }), step.expect)
        if (step.expect.used !== undefined) same(`${where}, used`, await limiter.get(key), step.expect.used)
        break
      case 'inc':
        same(where, await limiter.inc(key, step.cost), step.expect)
        break
      case 'set':
        same(where, await limiter.set(key, step.used), step.expect)
        break
      default:
        same(where, await limiter[step.do](key), step.expect)
    }
  }
}

function compare(where: string, decision: Decision, expected: KnownDecision): void {
  same(`${where}, allowed`, decision.allowed, expected.allowed)
  for (const field of ['remaining', 'retryAfterMs', 'resetAfterMs'] as const) {
    const value = expected[field]
    if (value !== undefined) same(`${where}, ${field}`, decision[field], value === 'never' ? Number.POSITIVE_INFINITY : value)
  }
}

function same(where: string, got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`${where}: expected ${expected}, got ${got}`)
}
