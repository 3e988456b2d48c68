// A cache of limiters by their rules, for rules that depend on the request.
// Invariant: at most MOST_LIMITERS limiters are kept.

import type { Rules } from '../gate/by-request.ts'
import type { GateLimiter } from '../gate/gate-limiter.ts'

/** Maximum number of limiters. No application has so many plans: only rules that are made from requests can be more. */
const MOST_LIMITERS = 1000

export class LimiterCache {
  readonly #make: (rules: Rules) => GateLimiter
  readonly #bySignature = new Map<string, GateLimiter>()
  /** Limiters by the identity of their rules, for rules that are made once and used often. */
  readonly #byIdentity = new WeakMap<object, GateLimiter>()

  /** Invariant: limiters that `make` returns share one store, so that a rule with the same name keeps its counts. */
  constructor(make: (rules: Rules) => GateLimiter) {
    this.#make = make
  }

  /** Returns the limiter of these rules. Makes it if there is none. */
  obtain(rules: Rules): GateLimiter {
    const known = this.#byIdentity.get(rules)
    if (known !== undefined) return known
    const signature = signatureOf(rules)
    const limiter = this.#bySignature.get(signature) ?? this.#make(rules)
    this.#byIdentity.set(rules, limiter)
    if (this.#bySignature.size === MOST_LIMITERS && !this.#bySignature.has(signature)) {
      // The oldest limiter is dropped. Its counts stay in the store.
      const [oldest] = this.#bySignature.keys()
      this.#bySignature.delete(oldest)
    }
    this.#bySignature.set(signature, limiter)
    return limiter
  }
}

/** Returns a text that is equal for rules that decide alike, and only for them. The limiter refuses values that are not rules. */
function signatureOf(rules: Rules): string {
  return JSON.stringify([rules].flat().map((rule) => [rule?.algorithm, rule?.name, rule?.per ?? null, rule?.parameters]))
}
