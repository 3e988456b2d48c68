// The options of every door, and their check.

import { checkCost, checkCosts } from '../../core/cost.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { FailureOptions } from '../../core/guard.ts'
import type { Limiter } from '../../core/limiter.ts'
import { checkOptions } from '../../core/options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store, Timing } from '../../core/store.ts'
import type { Cost, Subject, SubjectOf } from '../../core/subject.ts'

import type { ClientList } from '../../http/client-list.ts'
import type { AddressWarning, ReadClientAddress } from '../../http/peer-address.ts'
import type { ResponderOptions } from '../../http/responder.ts'
import type { Warning } from '../../http/warning.ts'
import type { ChargeByResponse, Rules, RulesByRequest } from './by-request.ts'
import type { DenialChange } from './changed-denial.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { DecidedContext, DeniedContext, RequestContext, ShadowContext } from './request-context.ts'
import type { Reserve } from './reserve.ts'

export type GateWarning = AddressWarning | Warning<'WARN_MOUNTED_TWICE' | 'WARN_CHARGE_FAILED' | 'WARN_SETTLE_FAILED'>

/** Options of a limiter for requests of type `R`, with rules of type `T`, whose subject is an `S`. */
export interface GateOptions<R, T extends Rule = Rule, S extends Subject = SubjectOf<T>> {
  // Callbacks are declared as methods, so that a callback with the framework's own type of request is accepted.

  /** The rules; for plans, `rulesByRequest()` of `sluice/requests`. Either `rules` or `limiter` is required. */
  readonly rules?: Rules<T> | RulesByRequest<R, T>
  /** A limiter that was made elsewhere. */
  readonly limiter?: Limiter<Timing, S>
  /** The store for `rules`. Default: a memory store of its own. */
  readonly store?: Store
  /** Deadline and fallback if that store fails. */
  readonly failure?: FailureOptions
  /** The longest wait that is worth a retry, for `rules`, in ms. A denial with a longer wait has no `Retry-After`. Default: every wait is. */
  readonly retryWithinMs?: number
  /**
   * Returns the key of a request; for rules with `per`, an object with exactly the names that they use. Default: the client's
   * address, for rules without `per` and for `per: 'address'`.
   */
  key?(request: R, context: RequestContext<R>): MaybePromise<NoInfer<S>>
  /** Units that a request spends: one number for all rules, or an object by rule name. Default: 1. */
  readonly cost?: Cost | ((request: R, context: RequestContext<R>) => MaybePromise<Cost>)
  /** Returns true for requests that are neither counted nor limited. */
  skip?(request: R, context: RequestContext<R>): MaybePromise<boolean>
  /**
   * Clients that are neither counted nor limited: `clientList()` of `sluice/http`. If the key is an object, each of its values is
   * looked up.
   */
  readonly allow?: ClientList
  /** Clients that are denied, with status 403, before anything is counted. */
  readonly block?: ClientList
  /** Styles of the rate limit fields. Default: `'draft-11'`. */
  readonly headers?: ResponderOptions['headers']
  /** Condition for charging a request: `chargeByResponse()` of `sluice/requests`. Default: every request is charged. */
  readonly charge?: ChargeByResponse<R>
  /** Holds units for a request, and settles them with its response: `reserving()` of `sluice/reserving`. */
  readonly reserve?: Reserve<R>
  /** `'shadow'` counts and reports, and lets everybody through. Default: `'enforce'`. */
  readonly mode?: 'enforce' | 'shadow'
  /** Called with every decision. */
  onDecision?(context: DecidedContext<R, S>): void
  /** Called for each denied request. It may return parts of the response, which replace those of `denial`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a callback that only listens returns nothing.
  onDenied?(context: DeniedContext<R, S>): MaybePromise<DenialChange | undefined | void>
  /** Called in `mode: 'shadow'` for each request that would be denied. */
  onShadowDenied?(context: ShadowContext<R, S>): void
  /** Reads the client's address: `clientAddress()` of `sluice/http`. Default: the address of the peer; no proxy is trusted. */
  readonly address?: ReadClientAddress
  /** Returns the address at the other end of the socket, for runtimes in which the library cannot find it. */
  peer?(request: R, ...rest: unknown[]): string | null | undefined
  /**
   * Called once for each warning if the configuration looks wrong. Default: `process.emitWarning`, or `console.warn` without a
   * process.
   */
  warn?(warning: GateWarning): void
}

/** Options with any rules and subjects. */
export type AnyOptions<R> = GateOptions<R, Rule, Subject>

/** Options of one route of an application. `false`: the route is not limited. */
export type RouteOptions<R> = AnyOptions<R> | false

const FUNCTIONS = ['key', 'skip', 'onDecision', 'onDenied', 'onShadowDenied', 'peer', 'warn'] as const

const LISTS = ['allow', 'block'] as const

const OPTIONS = [
  ...FUNCTIONS,
  ...LISTS,
  'rules',
  'limiter',
  'store',
  'failure',
  'retryWithinMs',
  'cost',
  'headers',
  'charge',
  'reserve',
  'mode',
  'address',
]

/** Throws ERR_OPTION if options are wrong or contradict each other. `door` is the name of the function that got them. */
export function checkGateOptions<R>(door: string, options: AnyOptions<R>): void {
  const refuse = (option: string, message: string): never => {
    throw new SluiceError('ERR_OPTION', `${door} ${message}`, { option, value: (options as Record<string, unknown>)[option] })
  }
  /** Throws if an option is set and is wrong. */
  const demand = (option: keyof typeof options, isRight: unknown, expected: string): void => {
    const value: unknown = options[option]
    if (value !== undefined && !isRight) refuse(option, `needs ${option} to be ${expected}, got ${show(value)}`)
  }
  checkOptions(door, options, OPTIONS)
  const { limiter, rules, store, failure, retryWithinMs, cost, mode } = options
  for (const name of FUNCTIONS) demand(name, typeof options[name] === 'function', 'a function')
  for (const name of LISTS) demand(name, options[name]?.denial, 'what clientList() of sluice/http makes')
  demand('address', typeof options.address === 'function', 'what clientAddress() of sluice/http makes')
  demand('limiter', limiter?.hit, 'what createLimiter() makes')
  demand('rules', typeof rules !== 'function', 'rules, or what rulesByRequest() of sluice/requests makes')
  demand('charge', options.charge?.settle, 'what chargeByResponse() of sluice/requests makes')
  demand('reserve', options.reserve?.check, 'what reserving() makes')
  demand('mode', mode === 'enforce' || mode === 'shadow', 'enforce or shadow')
  if (!limiter === !rules) refuse('rules', `needs either limiter or rules, and has ${limiter ? 'both' : 'neither'}`)
  if (limiter && (store ?? failure ?? retryWithinMs) !== undefined) {
    refuse('limiter', 'takes store, failure and retryWithinMs for rules')
  }
  if (mode === 'shadow' && !options.onShadowDenied) {
    refuse('onShadowDenied', "needs onShadowDenied in mode 'shadow'")
  }
  if (typeof cost === 'number') checkCost(cost, 1)
  else if (typeof cost === 'object' && cost !== null && !Array.isArray(cost)) {
    checkCosts(cost)
    for (const name in cost) checkCost(cost[name], 0, name)
  } else demand('cost', typeof cost === 'function', 'a whole number, an object by rule name, or a function')
}
