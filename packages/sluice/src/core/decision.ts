// A decision: the result of a hit or peek. Being over the limit is a result, not an error.

import { FIGURES, type Figures } from './call.ts'
import type { DecisionFailure } from './guard.ts'
import type { Rule } from './rule.ts'
import { MAX } from './whole-numbers.ts'

export interface RuleStatus {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

/** The origin of a decision: the store, or the fallback if the store failed. */
export type DecisionSource = 'store' | 'fallback'

export interface Decision {
  readonly allowed: boolean
  /** The limit of the reported rule. */
  readonly limit: number
  /** Units that the reported rule lets pass at once now. A whole number, never negative. */
  readonly remaining: number
  /**
   * Time until the same hit is allowed: 0 if it was allowed, Infinity if it never will be. The time is exact if nobody else hits
   * the key.
   */
  readonly retryAfterMs: number
  /**
   * False if waiting does not help: the cost is above the limit, or the wait is longer than `retryWithinMs` of the limiter. True for
   * every other decision, also for an allowed one.
   */
  readonly retryable: boolean
  /** Time until the key is as if it had never been hit, under the reported rule. */
  readonly resetAfterMs: number
  /**
   * Name of the reported rule. A decision reports one of its rules. If rules deny, it is the one with the longest wait. If none
   * denies, it is the one with the fewest units left.
   */
  readonly rule: string
  readonly source: DecisionSource
  /** Set if the fallback decided: the reason, and the kind of fallback. Undefined if the store decided. */
  readonly failure: DecisionFailure | undefined
  /** The status of each rule that was asked, in the limiter's order. Each read makes a new array. */
  readonly rules: readonly RuleStatus[]
}

/**
 * A decision of the store over one rule. It is a class, so that a hit makes one small object. The array `rules` is made only
 * when it is read.
 */
export class SingleDecision implements Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly rule: string

  constructor(allowed: boolean, limit: number, remaining: number, retryAfterMs: number, resetAfterMs: number, rule: string) {
    this.allowed = allowed
    this.limit = limit
    this.remaining = remaining
    this.retryAfterMs = retryAfterMs
    this.resetAfterMs = resetAfterMs
    this.rule = rule
  }

  // A getter, so that an allowed hit does no work for it.
  get retryable(): boolean {
    return this.retryAfterMs <= MAX
  }

  get source(): DecisionSource {
    return this.failure === undefined ? 'store' : 'fallback'
  }

  get failure(): DecisionFailure | undefined {
    return undefined
  }

  get rules(): readonly RuleStatus[] {
    const { rule: name, limit, remaining, retryAfterMs, resetAfterMs } = this
    return [{ name, limit, remaining, retryAfterMs, resetAfterMs }]
  }

  /** Includes the getters, so `JSON.stringify` shows everything. JSON has no Infinity: an infinite wait becomes null. */
  toJSON(): object {
    const { retryable, source, failure, rules } = this
    return { ...this, retryable, source, ...(failure && { failure }), rules }
  }
}

/** A decision over several rules, or one that was made without the store. */
class JointDecision extends SingleDecision {
  readonly #rules: readonly Rule[]
  readonly #figures: Figures
  readonly #failure: DecisionFailure | undefined

  constructor(rules: readonly Rule[], figures: Figures, reported: number, failure: DecisionFailure | undefined) {
    const { limit, name } = rules[reported]
    const at = reported * FIGURES
    const waitMs = figures[at + 1]
    super(waitMs === 0, limit, Math.max(0, limit - figures[at]), waitMs, figures[at + 2], name)
    this.#rules = rules
    this.#figures = figures
    this.#failure = failure
  }

  override get failure(): DecisionFailure | undefined {
    return this.#failure
  }

  override get rules(): readonly RuleStatus[] {
    return this.#rules.map(({ name, limit }, i) => {
      const [used, retryAfterMs, resetAfterMs] = this.#figures.slice(i * FIGURES)
      return { name, limit, remaining: Math.max(0, limit - used), retryAfterMs, resetAfterMs }
    })
  }
}

/** Makes a decision from the figures of `rules`. The decision keeps both arrays. `failure` is set if the fallback decided. */
export function decide(rules: readonly Rule[], figures: Figures, failure?: DecisionFailure): Decision {
  if (rules.length === 1 && failure === undefined) {
    const { limit, name } = rules[0]
    const waitMs = figures[1]
    return new SingleDecision(waitMs === 0, limit, Math.max(0, limit - figures[0]), waitMs, figures[2], name)
  }
  return new JointDecision(rules, figures, reportedOf(rules, figures), failure)
}

/**
 * Marks a decision as final if its wait is longer than `retryWithinMs`, and returns it. Decisions of the fallback `'deny'` are never
 * final: it does not know the wait of the rules, and the store may be back soon.
 */
export function markIfFinal(decision: Decision, retryWithinMs: number): Decision {
  const isFinal = decision.retryAfterMs > retryWithinMs && decision.failure?.then !== 'deny'
  return isFinal ? Object.defineProperty(decision, 'retryable', { value: false }) : decision
}

/** Returns the index of the reported rule. */
function reportedOf(rules: readonly Rule[], figures: Figures): number {
  let reported = 0
  let longestWaitMs = figures[1]
  let fewestLeft = rules[0].limit - figures[0]
  for (let i = 1; i < rules.length; i++) {
    const waitMs = figures[i * FIGURES + 1]
    const left = rules[i].limit - figures[i * FIGURES]
    if (waitMs > longestWaitMs || (longestWaitMs === 0 && left < fewestLeft)) {
      reported = i
      longestWaitMs = waitMs
      fewestLeft = left
    }
  }
  return reported
}
