// The answer to one hit. Being over the limit is an answer, not an error.

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
  /** The quota of the rule that speaks. */
  readonly limit: number
  /** Whole units left now, never negative. So many can really be spent at once. */
  readonly remaining: number
  /** 0 if allowed; else the exact wait after which this cost passes if nobody else hits. Infinity: never. */
  readonly retryAfterMs: number
  /** Time until the key is as if it had never been hit. */
  readonly resetAfterMs: number
  /** The rule that speaks: of those that deny the one with the longest wait, else the one with the fewest units left. */
  readonly rule: string
  readonly source: DecisionSource
  /** Why the store did not decide, and who did. Undefined if the store decided. */
  readonly failure: DecisionFailure | undefined
  /** The status of each rule that was asked, in the limiter's order. Made when read. */
  readonly rules: readonly RuleStatus[]
}

/** A decision of the store over one rule. A class, so that a hit makes one small object and `rules` costs nothing until it is read. */
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

  /** `JSON.stringify` shows all of it. An infinite wait becomes null, as JSON has no Infinity. */
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

/** Makes a decision from the figures of `rules`, which it keeps. `failure` says why the store did not decide. */
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
