// The options of every door, checked in one place.

import { checkCost } from '../../core/cost.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { FailureOptions } from '../../core/guard.ts'
import type { Limiter } from '../../core/limiter.ts'
import { checkOptions } from '../../core/options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store, Timing } from '../../core/store.ts'
import type { Cost, Subject, SubjectOf } from '../../core/subject.ts'
import type { ClientList } from '../../http/client-list.ts'
import type { AddressWarning, ReadClientAddress } from '../../http/peer-address.ts'
import type { Denial, ResponderOptions } from '../../http/responder.ts'
import type { Warning } from '../../http/warning.ts'
import type { Rules } from './limiter-cache.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { DecidedContext, DeniedContext, RequestContext, ShadowContext } from './request-context.ts'

/** When a request is charged: always, or depending on its response. */
export type ChargeWhen<R> = 'request' | 'failed-response' | 'successful-response' | ((status: number, request: R) => boolean)

export type GateWarning = AddressWarning | Warning<'WARN_MOUNTED_TWICE'>

/** Options of a limiter for requests of type `R`, with rules of type `T`, whose subject is an `S`. */
export interface GateOptions<R, T extends Rule = Rule, S extends Subject = SubjectOf<T>> {
  // Callbacks are written as methods, so that one that wants the framework's own type of request fits.

  /** The rules of a limiter of its own; or a function of the request, for plans. Either this or `limiter`. */
  readonly rules?: Rules<T> | ((request: R, context: RequestContext<R>) => MaybePromise<Rules<T>>)
  /** A limiter that was made elsewhere. */
  readonly limiter?: Limiter<Timing, S>
  /** Where the states of `rules` live. Default: a memory store of its own. */
  readonly store?: Store
  /** What happens when that store fails. */
  readonly failure?: FailureOptions
  /**
   * The key that a request counts for; for rules with `per`, a record with exactly the names that they use. Default: the client's
   * address, for rules without `per` and for `per: 'address'`.
   */
  key?(request: R, context: RequestContext<R>): MaybePromise<NoInfer<S>>
  /** Units that a request spends: one number for all rules, or a record by rule name. Default: 1. */
  readonly cost?: Cost | ((request: R, context: RequestContext<R>) => MaybePromise<Cost>)
  /** Requests to leave alone: neither counted nor limited. */
  skip?(request: R, context: RequestContext<R>): MaybePromise<boolean>
  /** Clients that are neither counted nor limited, as `clientList()` of `sluice/http` makes it. If the key is a record, any value matches. */
  readonly allow?: ClientList
  /** Clients that are denied, with status 403, before anything is counted. */
  readonly block?: ClientList
  /** Which rate limit fields to send. Default: `'draft-10'`. */
  readonly headers?: ResponderOptions['headers']
  /** Default: `'request'`. */
  readonly charge?: ChargeWhen<R>
  /** `'shadow'` counts and reports, and lets everybody through. Default: `'enforce'`. */
  readonly mode?: 'enforce' | 'shadow'
  /** Called with every decision. */
  onDecision?(context: DecidedContext<R, S>): void
  /** Called for each request that is denied. It may change the answer: what it returns replaces parts of `denial`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: one that only listens may return nothing at all.
  onDenied?(context: DeniedContext<R, S>): MaybePromise<Partial<Denial> | undefined | void>
  /** Called for each request that would be denied if it were not for `mode: 'shadow'`. */
  onShadowDenied?(context: ShadowContext<R, S>): void
  /** Reads the client's address, as `clientAddress()` of `sluice/http` makes it. Default: the address of the peer; no proxy is trusted. */
  readonly address?: ReadClientAddress
  /** The address at the other end of the socket, for runtimes that the library cannot ask. */
  peer?(request: R, ...rest: unknown[]): string | null | undefined
  /** Called, once for each warning, if the set-up looks wrong. Default: `process.emitWarning`, or `console.warn` where there is none. */
  warn?(warning: GateWarning): void
}

/** Options with any rules and subjects. */
export type AnyOptions<R> = GateOptions<R, Rule, Subject>

/** Options that one route of an application can change; `false`: it is not limited. */
export type RouteOptions<R> = AnyOptions<R> | false

const CHARGES = ['request', 'failed-response', 'successful-response']

const FUNCTIONS = ['key', 'skip', 'onDecision', 'onDenied', 'onShadowDenied', 'peer', 'warn'] as const

const LISTS = ['allow', 'block'] as const

const OPTIONS = [...FUNCTIONS, ...LISTS, 'rules', 'limiter', 'store', 'failure', 'cost', 'headers', 'charge', 'mode', 'address']

/** Throws ERR_OPTION unless the options make sense together. `door` is the name of the function that was called with them. */
export function checkGateOptions<R>(door: string, options: AnyOptions<R>): void {
  const refuse = (option: string, message: string): never => {
    throw new SluiceError('ERR_OPTION', `${door} ${message}`, { option, value: (options as Record<string, unknown>)[option] })
  }
  /** Refuses an option that is there and is not right. */
  const demand = (option: keyof typeof options, isRight: unknown, expected: string): void => {
    const value: unknown = options[option]
    if (value !== undefined && !isRight) refuse(option, `needs ${option} to be ${expected}, got ${show(value)}`)
  }
  if (Object.hasOwn(Object(options), 'limits')) {
    refuse(
      'limits',
      "has no limits: give its rules per, as in per: 'user', and let key return a record such as { user, address }",
    )
  }
  checkOptions(door, options, OPTIONS)
  const { limiter, rules, store, failure, cost, charge, mode } = options
  for (const name of FUNCTIONS) demand(name, typeof options[name] === 'function', 'a function')
  for (const name of LISTS) demand(name, options[name]?.hasKey, 'what clientList() of sluice/http makes')
  demand('address', typeof options.address === 'function', 'what clientAddress() of sluice/http makes')
  demand('limiter', limiter?.hit, 'what createLimiter() makes')
  demand('charge', typeof charge === 'function' || CHARGES.includes(charge as string), `${CHARGES.join(', ')} or a function`)
  demand('mode', mode === 'enforce' || mode === 'shadow', 'enforce or shadow')
  if (!limiter === !rules) refuse('rules', `needs either limiter or rules, and has ${limiter ? 'both' : 'neither'}`)
  if (limiter && (store ?? failure)) refuse('limiter', 'takes store and failure for rules: a limiter has its own')
  if (mode === 'shadow' && !options.onShadowDenied) {
    refuse('onShadowDenied', "needs onShadowDenied in mode 'shadow': otherwise nobody hears who would be denied")
  }
  if (typeof cost === 'number') checkCost(cost, 1)
  else if (typeof cost === 'object' && cost !== null) for (const name in cost) checkCost(cost[name], 0, name)
  else demand('cost', typeof cost === 'function', 'a whole number, a record by rule name, or a function')
}
