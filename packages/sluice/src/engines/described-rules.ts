// The description of a list of rules for a script. It is made again when the arguments of a rule have changed with the time.

import type { Rule } from '../core/rule.ts'

export interface DescribedRulesOptions<D> {
  readonly rules: readonly Rule[]
  readonly describe: (rules: readonly Rule[]) => D
  /** The time of this process. */
  readonly now: () => number
}

export class DescribedRules<D> {
  readonly #options: DescribedRulesOptions<D>
  /** True if a rule has other arguments at other times. */
  readonly #isTimed: boolean
  /** The rules that are described. */
  #described: readonly Rule[]
  #description: D

  /** Throws ERR_RULE if the script has no translation of a rule. */
  constructor(options: DescribedRulesOptions<D>) {
    const { rules, describe } = options
    this.#options = options
    this.#isTimed = rules.some(({ around }) => around !== undefined)
    this.#described = this.#isTimed ? this.#rulesNow() : rules
    this.#description = describe(this.#described)
  }

  /** The description at this time. */
  get now(): D {
    return this.#isTimed ? this.#timed() : this.#description
  }

  #timed(): D {
    const rules = this.#rulesNow()
    if (rules.some((rule, i) => rule !== this.#described[i])) {
      this.#description = this.#options.describe(rules)
      this.#described = rules
    }
    return this.#description
  }

  #rulesNow(): readonly Rule[] {
    const { rules, now } = this.#options
    const nowMs = now()
    return rules.map((rule) => rule.around?.(nowMs) ?? rule)
  }
}
