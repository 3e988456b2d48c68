// The contracts between the gate and options that depend on each request or on its response. `sluice/requests` implements them, so that a
// bundle without such options does not contain them.

import type { Rule } from '../../core/rule.ts'
import type { GateLimiter } from './gate-limiter.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { GateWarning } from './options.ts'
import type { Charged, GateContext, RequestContext } from './request-context.ts'

/** One rule, or several: one decision over all of them. */
export type Rules<T extends Rule = Rule> = T | readonly T[]

/** The option `rules` for plans: `rulesByRequest()` makes it. */
export interface RulesByRequest<R, T extends Rule = Rule> {
  /** Returns the rules of a request. */
  choose(request: R, context: RequestContext<R>): MaybePromise<Rules<T>>
  /** Returns a function from a request to its limiter. `make` makes the limiter of rules, over one store for all of them. */
  limiters(make: (rules: Rules) => GateLimiter): (context: GateContext) => MaybePromise<GateLimiter>
}

/** The option `charge`: `chargeByResponse()` makes it. */
export interface ChargeByResponse<R> {
  /** Only a type: the requests that its callback takes. */
  takes?(request: R): void

  /** Gives the units of a request back if its response, with this status, is not charged. Never throws. */
  settle(charged: Charged, status: number, gate: ChargingGate): void
}

/** The gate that a request has passed. */
export interface ChargingGate {
  /** Name of the door, for messages. */
  readonly door: string
  warn(warning: GateWarning): void
}
