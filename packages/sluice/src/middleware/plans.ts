// Which limiter a request is counted by: always the same one, or one for each plan, where rules depend on the request.
// What must stay true: however many different rules are asked for, so many limiters are kept and no more.

import { SluiceError, show } from '../core/errors.ts'
import type { FailureOptions } from '../core/guard.ts'
import type { Limiter } from '../core/limiter.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { createLimiter, type LimiterOptions } from '../create-limiter.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'

/** Rules as people write them: one, a notation such as `'100/minute'`, or several of either. */
export type Rules = LimiterOptions['rules']

/** How the limiters of a gate are made. */
export interface PlanOptions {
  readonly store: Store | undefined
  readonly failure: FailureOptions | undefined
}

/** More plans than anybody sells. Rules beyond it mean that they are made from what clients send. */
const MOST_PLANS = 1000

/** A limiter, and where its counts are. */
export class Plan {
  readonly limiter: Limiter
  /** Limiters over one store share the counts of rules with the same algorithm and name. */
  readonly #counts: Limiter | Store

  constructor(limiter: Limiter, counts: Limiter | Store) {
    this.limiter = limiter
    this.#counts = counts
  }

  /** Whether a hit here and a hit there would be two on one count, if they had the same key. */
  sharesCountsWith(other: Plan): boolean {
    if (this.#counts !== other.#counts) return false
    const has = (rule: Rule) =>
      other.limiter.rules.some(({ algorithm, name }) => algorithm === rule.algorithm && name === rule.name)
    return this.limiter.rules.some(has)
  }
}

/** The plan of a limiter that is there already. */
export function planOf(limiter: Limiter): Plan {
  if (typeof limiter?.hit !== 'function' || !Array.isArray(limiter.rules)) {
    throw new SluiceError('ERR_OPTION', `limiter must be what createLimiter() makes, got ${show(limiter)}`)
  }
  return new Plan(limiter, limiter)
}

/** A limiter for each set of rules. All share one store, so a rule that keeps its name keeps what was used when a client changes plans. */
export class Plans {
  readonly #options: PlanOptions
  readonly #store: Store
  readonly #bySignature = new Map<string, Plan>()
  /** Rules that are made once and given often are found without looking into them. */
  readonly #byIdentity = new WeakMap<object, Plan>()

  constructor(options: PlanOptions) {
    this.#options = options
    this.#store = options.store ?? memoryStore()
  }

  of(rules: Rules): Plan {
    if (typeof rules === 'string') return this.#bySignature.get(rules) ?? this.#make(rules, rules)
    const known = this.#byIdentity.get(rules)
    if (known !== undefined) return known
    const signature = signatureOf(rules)
    const plan = this.#bySignature.get(signature) ?? this.#make(signature, rules)
    this.#byIdentity.set(rules, plan)
    return plan
  }

  #make(signature: string, rules: Rules): Plan {
    const limiter = createLimiter({ rules, store: this.#store, failure: this.#options.failure ?? {} })
    const plan = new Plan(limiter, this.#store)
    if (this.#bySignature.size === MOST_PLANS) {
      // Its counts stay in the store, for whoever asks for the same rules again.
      const [oldest] = this.#bySignature.keys()
      this.#bySignature.delete(oldest)
    }
    this.#bySignature.set(signature, plan)
    return plan
  }
}

/** The same text for rules that decide alike, and for no others. What is no rule is left for the limiter to refuse. */
function signatureOf(rules: Exclude<Rules, string>): string {
  const list: readonly (Rule | string)[] = Array.isArray(rules) ? rules : [rules]
  return JSON.stringify(list.map((rule) => (typeof rule === 'string' ? rule : [rule?.algorithm, rule?.name, rule?.parameters])))
}
