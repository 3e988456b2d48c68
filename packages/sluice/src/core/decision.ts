// The answer to one hit. Being over the limit is an answer, not an error.

import type { Rule } from './rule.ts'

export interface RuleStatus {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

/** Who answered: the store; or, without asking it, this process; or what stands in for a store that failed. */
export type DecisionSource = 'store' | 'local' | 'fallback'

export interface Decision {
  readonly allowed: boolean
  /** The quota of the rule that speaks. */
  readonly limit: number
  /** Whole units left now, never negative: so many can really be spent at once. */
  readonly remaining: number
  /** 0 if allowed; else the exact wait after which this cost passes if nobody else hits. Infinity: never. */
  readonly retryAfterMs: number
  /** Until the key is as if it had never been hit. */
  readonly resetAfterMs: number
  /** The rule that speaks: of those that deny the one with the longest wait, else the one with least room. */
  readonly rule: string
  readonly source: DecisionSource
  /** Each rule's own numbers, in the limiter's order. Made when read. */
  readonly rules: readonly RuleStatus[]
}

/** A decision over one rule. A class, so that a hit makes one small object and `rules` costs nothing until it is read. */
export class SingleDecision implements Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  readonly rule: string
  readonly source: DecisionSource

  constructor(
    allowed: boolean,
    limit: number,
    remaining: number,
    retryAfterMs: number,
    resetAfterMs: number,
    rule: string,
    source: DecisionSource,
  ) {
    this.allowed = allowed
    this.limit = limit
    this.remaining = remaining
    this.retryAfterMs = retryAfterMs
    this.resetAfterMs = resetAfterMs
    this.rule = rule
    this.source = source
  }

  /** The same decision, as made by somebody else. */
  from(source: DecisionSource): SingleDecision {
    const { allowed, limit, remaining, retryAfterMs, resetAfterMs, rule } = this
    return new SingleDecision(allowed, limit, remaining, retryAfterMs, resetAfterMs, rule, source)
  }

  get rules(): readonly RuleStatus[] {
    const { rule: name, limit, remaining, retryAfterMs, resetAfterMs } = this
    return [{ name, limit, remaining, retryAfterMs, resetAfterMs }]
  }

  /** What `JSON.stringify` shows: all of it. An infinite wait becomes null, as JSON has no Infinity. */
  toJSON(): object {
    return { ...this, rules: this.rules }
  }
}

/** How many figures `decide` reads for each rule. */
const FIGURES = 3

/** A decision over several rules. */
class JointDecision extends SingleDecision {
  readonly #rules: readonly Rule[]
  readonly #figures: readonly number[]

  constructor(allowed: boolean, rules: readonly Rule[], speaker: number, figures: readonly number[], source: DecisionSource) {
    const rule = rules[speaker]
    const at = speaker * FIGURES
    super(allowed, rule.limit, Math.max(0, rule.limit - figures[at]), figures[at + 1], figures[at + 2], rule.name, source)
    this.#rules = rules
    this.#figures = figures
  }

  override from(source: DecisionSource): SingleDecision {
    return decide(this.#rules, this.#figures, source)
  }

  override get rules(): readonly RuleStatus[] {
    return this.#rules.map(({ name, limit }, i) => {
      const [used, retryAfterMs, resetAfterMs] = this.#figures.slice(i * FIGURES)
      return { name, limit, remaining: Math.max(0, limit - used), retryAfterMs, resetAfterMs }
    })
  }
}

/**
 * Makes the decision over `rules` from each one's figures after the hit, three numbers a rule: units used, how long until
 * the cost passes (0 if it passed, or would by this rule alone), until the key is as new. Keeps `figures`: hand over an array of its own.
 */
export function decide(rules: readonly Rule[], figures: readonly number[], source: DecisionSource): SingleDecision {
  let speaker = 0
  let longestWaitMs = figures[1]
  let leastRoom = rules[0].limit - figures[0]
  for (let i = 1; i < rules.length; i++) {
    const waitMs = figures[i * FIGURES + 1]
    const room = rules[i].limit - figures[i * FIGURES]
    if (waitMs > longestWaitMs || (longestWaitMs === 0 && room < leastRoom)) {
      speaker = i
      longestWaitMs = waitMs
      leastRoom = room
    }
  }
  return new JointDecision(longestWaitMs === 0, rules, speaker, figures, source)
}
