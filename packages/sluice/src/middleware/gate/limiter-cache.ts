// A limiter for each set of rules, for rules that depend on the request.
// Invariant: however many different rules are asked for, at most MOST_LIMITERS are kept.

import type { Rule } from '../../core/rule.ts'
import type { GateLimiter } from './gate-limiter.ts'

/** One rule, or several: one decision over all of them. */
export type Rules<T extends Rule = Rule> = T | readonly T[]

/** More than anybody has plans to sell. Rules beyond it mean that they are made from what clients send. */
const MOST_LIMITERS = 1000

export class LimiterCache {
  readonly #make: (rules: Rules) => GateLimiter
  readonly #bySignature = new Map<string, GateLimiter>()
  /** Rules that are made once and given often are found by identity. */
  readonly #byIdentity = new WeakMap<object, GateLimiter>()

  /** Limiters that `make` returns must share one store, so that a rule that keeps its name keeps its counts. */
  constructor(make: (rules: Rules) => GateLimiter) {
    this.#make = make
  }

  /** The limiter of these rules. Makes it if there is none. */
  obtain(rules: Rules): GateLimiter {
    const known = this.#byIdentity.get(rules)
    if (known !== undefined) return known
    const signature = signatureOf(rules)
    const limiter = this.#bySignature.get(signature) ?? this.#make(rules)
    this.#byIdentity.set(rules, limiter)
    if (this.#bySignature.size === MOST_LIMITERS && !this.#bySignature.has(signature)) {
      // The oldest goes. Its counts stay in the store.
      const [oldest] = this.#bySignature.keys()
      this.#bySignature.delete(oldest)
    }
    this.#bySignature.set(signature, limiter)
    return limiter
  }
}

/** The same text for rules that decide alike, and for no others. Values that are no rules are left for the limiter to refuse. */
function signatureOf(rules: Rules): string {
  return JSON.stringify([rules].flat().map((rule) => [rule?.algorithm, rule?.name, rule?.per ?? null, rule?.parameters]))
}
