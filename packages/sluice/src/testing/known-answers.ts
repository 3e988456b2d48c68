// Known answers: their form, and a function that replays one on a limiter.

import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { gcra } from '../algorithms/gcra/gcra.ts'
import { leakyBucket } from '../algorithms/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import type { Decision } from '../core/decision.ts'
import { SluiceError } from '../core/errors.ts'
import type { Limiter } from '../core/limiter.ts'
import type { Rule } from '../core/rule.ts'
import type { FakeClock } from './fake-clock.ts'

/** A rule as data, with every duration in milliseconds. */
export type KnownRule =
  | {
      readonly type: 'fixed-window'
      readonly limit: number
      readonly windowMs: number
      readonly anchor?: 'first-hit' | 'clock'
      readonly countDenied?: boolean
      readonly elastic?: boolean
    }
  | { readonly type: 'sliding-log'; readonly limit: number; readonly windowMs: number }
  | {
      readonly type: 'sliding-window'
      readonly limit: number
      readonly windowMs: number
      readonly anchor?: 'first-hit' | 'clock'
      readonly round?: 'down' | 'none'
    }
  | {
      readonly type: 'token-bucket'
      readonly capacity: number
      readonly refill: number
      readonly everyMs: number
      readonly style?: 'smooth' | 'stepped'
    }
  | { readonly type: 'gcra'; readonly limit: number; readonly periodMs: number; readonly burst: number }
  | { readonly type: 'leaky-bucket'; readonly capacity: number; readonly leak: number; readonly everyMs: number }

export interface KnownDecision {
  readonly allowed: boolean
  readonly remaining?: number
  /** `'never'` stands for Infinity, which JSON does not have. */
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
  readonly rule: KnownRule
  readonly steps: readonly KnownStep[]
}

/** The rule that a known answer is about. */
export function knownRule(rule: KnownRule): Rule {
  switch (rule.type) {
    case 'fixed-window': {
      const { type: _, windowMs: window, ...numbers } = rule
      return fixedWindow({ ...numbers, window })
    }
    case 'sliding-log':
      return slidingLog({ limit: rule.limit, window: rule.windowMs })
    case 'sliding-window': {
      const { type: _, windowMs: window, ...numbers } = rule
      return slidingWindow({ ...numbers, window })
    }
    case 'token-bucket': {
      const { type: _, everyMs: every, ...numbers } = rule
      return tokenBucket({ ...numbers, every })
    }
    case 'gcra':
      return gcra({ limit: rule.limit, period: rule.periodMs, burst: rule.burst })
    case 'leaky-bucket':
      return leakyBucket({ capacity: rule.capacity, leak: rule.leak, every: rule.everyMs })
    default:
      throw new SluiceError('ERR_RULE', `no known rule is of type ${(rule as { type: string }).type}`)
  }
}

/** Replays the steps of a known answer on a limiter that its rule was given to; throws at the first answer that differs. */
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
