// A decision: the result of a hit or peek. Being over the limit is a result, not an error.

import { FIGURES, type Figures } from './call.ts'
import type { DecisionFailure } from './guard.ts'
import type { Rule } from './rule.ts'

export interface RuleStatus {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

/** The store, or the fallback of a store that failed. */
export type DecisionSource = 'store' | 'fallback'

export interface Decision {
  readonly allowed: boolean
  /** The limit of the rule that speaks. */
  readonly limit: number
  /** Whole units that can be spent at once now. Never negative. */
  readonly remaining: number
  /** 0 if allowed; else the exact time until this cost passes, if nobody else hits the key. Infinity: it never passes. */
  readonly retryAfterMs: number
  /** Time until the key is as if it had never been hit. */
  readonly resetAfterMs: number
  /** Name of the rule that speaks. If rules deny: the one with the longest wait. Else: the one with the fewest units left. */
  readonly rule: string
  readonly source: DecisionSource
  /** The reason why the store did not decide, and the fallback that did. Undefined if the store decided. */
  readonly failure: DecisionFailure | undefined
  /** The status of each rule that was asked, in the limiter's order. Computed on each read. */
  readonly rules: readonly RuleStatus[]
}

/**
 * A decision of the store over one rule. It is a class: a hit makes one small object, and `rules` costs nothing until it is read.
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
    const { source, failure, rules } = this
    return { ...this, source, ...(failure && { failure }), rules }
  }
}

/** A decision over several rules, or one that was made without the store. */
class JointDecision extends SingleDecision {
  readonly #rules: readonly Rule[]
  readonly #figures: Figures
  readonly #failure: DecisionFailure | undefined

  constructor(rules: readonly Rule[], figures: Figures, speaker: number, failure: DecisionFailure | undefined) {
    const { limit, name } = rules[speaker]
    const at = speaker * FIGURES
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

/** Makes a decision from the figures of `rules`. It keeps both arrays. `failure` is the reason why the store did not decide. */
export function decide(rules: readonly Rule[], figures: Figures, failure?: DecisionFailure): Decision {
  if (rules.length === 1 && failure === undefined) {
    const { limit, name } = rules[0]
    const [used, waitMs, resetAfterMs] = figures
    return new SingleDecision(waitMs === 0, limit, Math.max(0, limit - used), waitMs, resetAfterMs, name)
  }
  return new JointDecision(rules, figures, speakerOf(rules, figures), failure)
}

/** Index of the rule that speaks. */
function speakerOf(rules: readonly Rule[], figures: Figures): number {
  let speaker = 0
  let longestWaitMs = figures[1]
  let fewestLeft = rules[0].limit - figures[0]
  for (let i = 1; i < rules.length; i++) {
    const waitMs = figures[i * FIGURES + 1]
    const left = rules[i].limit - figures[i * FIGURES]
    if (waitMs > longestWaitMs || (longestWaitMs === 0 && left < fewestLeft)) {
      speaker = i
      longestWaitMs = waitMs
      fewestLeft = left
    }
  }
  return speaker
}
