// From a request to the hit that it makes: which limiter, which key, what cost.

import { checkCost } from '../core/cost.ts'
import { SluiceError, show } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import type { Rule } from '../core/rule.ts'
import type { LimitOptions } from './gate-options.ts'
import { type Plan, type PlanOptions, Plans, planOf, type Rules } from './plans.ts'
import { RequestHit } from './request-hit.ts'
import { isPromise, type Soon, whenKnown } from './soon.ts'
import type { GateVisit } from './visit.ts'

export class Limit<R extends object> {
  /** None if they depend on the request. */
  readonly rules: readonly Rule[]
  readonly #planOf: (visit: GateVisit<R>) => Soon<Plan>
  readonly #key: LimitOptions<R>['key']
  readonly #cost: LimitOptions<R>['cost']

  constructor({ limiter, rules, key, cost }: LimitOptions<R>, options: PlanOptions, shared?: Limit<R>) {
    this.#key = key
    this.#cost = cost
    if (typeof cost === 'number') checkCost(cost, 1)
    if (shared !== undefined) {
      this.rules = shared.rules
      this.#planOf = shared.#planOf
    } else if (typeof rules === 'function') {
      const plans = new Plans(options)
      this.rules = []
      this.#planOf = (visit) => whenKnown(rules(visit.request, visit), (rules) => plans.of(rules))
    } else {
      const plan = limiter === undefined ? new Plans(options).of(rules as Rules) : planOf(limiter)
      this.rules = plan.limiter.rules
      this.#planOf = () => plan
    }
  }

  /** The hit that a request is to make. Nothing is charged yet, and what cannot be is refused here. */
  hitOf(visit: GateVisit<R>): Soon<RequestHit> {
    const key = this.#key === undefined ? visit.address.key : this.#key(visit.request, visit)
    return isPromise(key) ? key.then((key) => this.#costed(visit, key)) : this.#costed(visit, key)
  }

  #costed(visit: GateVisit<R>, key: string): Soon<RequestHit> {
    const cost = typeof this.#cost === 'function' ? this.#cost(visit.request, visit) : (this.#cost ?? 1)
    return isPromise(cost) ? cost.then((cost) => this.#planned(visit, key, cost)) : this.#planned(visit, key, cost)
  }

  #planned(visit: GateVisit<R>, key: string, cost: number): Soon<RequestHit> {
    const plan = this.#planOf(visit)
    return isPromise(plan) ? plan.then((plan) => hitOn(plan, key, cost)) : hitOn(plan, key, cost)
  }
}

function hitOn(plan: Plan, key: string, cost: number): RequestHit {
  checkKey(key)
  checkCost(cost, 1)
  return new RequestHit(plan, key, cost)
}

/** Throws ERR_RULE_NAME if two limits have a rule of one name: by it alone clients know them. */
export function checkNames(of: string, limits: readonly { readonly rules: readonly Rule[] }[]): void {
  const names = new Set<string>()
  for (const { name } of limits.flatMap(({ rules }) => rules)) {
    if (names.has(name))
      throw new SluiceError('ERR_RULE_NAME', `${of}: two limits have a rule called ${show(name)}: give one a name`)
    names.add(name)
  }
}
