// What every door of the middleware can be told: the same words everywhere, checked in one place.

import { SluiceError, show } from '../core/errors.ts'
import type { FailureOptions } from '../core/guard.ts'
import type { Limiter } from '../core/limiter.ts'
import { checkOptions } from '../core/options.ts'
import type { Store } from '../core/store.ts'
import type { AddressWarning, ClientAddressOptions } from '../http/client-address.ts'
import type { Denial, ResponderOptions } from '../http/responder.ts'
import type { Warning } from '../http/warning.ts'
import type { Clients } from './client-list.ts'
import type { Rules } from './plans.ts'
import type { Soon } from './soon.ts'
import type { DecidedVisit, DeniedVisit, ShadowVisit, Visit } from './visit.ts'

// Callbacks are written as methods, so that one that wants the framework's own type of request fits.

/** Whom a request counts for, how much, and by which rules. */
export interface LimitOptions<R> {
  /** A limiter that is there already. Either this or `rules`. */
  readonly limiter?: Limiter
  /** The rules of a limiter of its own; or a function of the request, for plans. */
  readonly rules?: Rules | ((request: R, visit: Visit<R>) => Soon<Rules>)
  /** Whom the request counts for. Default: the client's address. */
  key?(request: R, visit: Visit<R>): Soon<string>
  /** How many units the request spends. Default: 1. */
  readonly cost?: number | ((request: R, visit: Visit<R>) => Soon<number>)
}

export interface AddressOptions<R> extends Omit<ClientAddressOptions, 'warn'> {
  /** The address at the other end of the socket, where the framework's own is not the one. */
  peer?(request: R, ...rest: unknown[]): string | null | undefined
}

/** When a request is charged: always, or as its response turns out. */
export type Charge<R> = 'request' | 'failed-response' | 'successful-response' | ((status: number, request: R) => boolean)

export type GateWarning = AddressWarning | Warning<'WARN_MOUNTED_TWICE'>

export interface GateOptions<R> extends LimitOptions<R> {
  /** Several limits with keys of their own, in one decision: if one denies, none is charged. Instead of limiter, rules, key and cost. */
  readonly limits?: readonly LimitOptions<R>[]
  /** Where the state of `rules` lives. Default: a memory store of its own. */
  readonly store?: Store
  /** What happens when that store fails. */
  readonly failure?: FailureOptions
  /** Requests to leave alone: neither counted nor limited. */
  skip?(request: R, visit: Visit<R>): Soon<boolean>
  /** Clients that are neither counted nor limited. */
  readonly allow?: Clients
  /** Clients that are denied, with status 403, before anything is counted. */
  readonly block?: Clients
  /** Which rate limit fields to send. Default: `'draft-10'`. */
  readonly headers?: ResponderOptions['headers']
  /** Default: `'request'`. */
  readonly charge?: Charge<R>
  /** `'shadow'` counts and reports, and lets everybody through. Default: `'enforce'`. */
  readonly mode?: 'enforce' | 'shadow'
  /** Hears every decision. */
  onDecision?(visit: DecidedVisit<R>): void
  /** Hears of each request that is denied, and may change the answer: what it returns replaces parts of `denial`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: one that only listens may return nothing at all.
  onDenied?(visit: DeniedVisit<R>): Soon<Partial<Denial> | undefined | void>
  /** Hears of each request that would be denied if it were not for `mode: 'shadow'`. */
  onShadowDenied?(visit: ShadowVisit<R>): void
  /** How the client's address is found. */
  readonly address?: AddressOptions<R>
  /** Hears, once each, that the set-up looks wrong. Default: `process.emitWarning`, or `console.warn` where there is none. */
  warn?(warning: GateWarning): void
}

/** What one route of an application can say differently; `false`: it is not limited. */
export type RouteOptions<R> = Partial<GateOptions<R>> | false

const LIMIT_OPTIONS = ['limiter', 'rules', 'key', 'cost'] as const

const FUNCTIONS = ['skip', 'onDecision', 'onDenied', 'onShadowDenied', 'warn'] as const

const OPTIONS = [
  ...LIMIT_OPTIONS,
  ...FUNCTIONS,
  'limits',
  'store',
  'failure',
  'allow',
  'block',
  'headers',
  'charge',
  'mode',
  'address',
] as const

const CHARGES = ['request', 'failed-response', 'successful-response'] as const
const MODES = ['enforce', 'shadow'] as const

/** Throws ERR_OPTION unless the options of `of` make sense together; → the limits they speak of. */
export function checkGateOptions<R>(of: string, options: GateOptions<R>): readonly LimitOptions<R>[] {
  checkOptions(of, options, OPTIONS)
  for (const name of FUNCTIONS) checkFunction(of, name, options[name])
  checkFunction(of, 'address.peer', options.address?.peer)
  const { charge = 'request', mode = 'enforce' } = options
  if (typeof charge !== 'function' && !CHARGES.includes(charge)) refuseChoice(of, 'charge', CHARGES, ' or a function', charge)
  if (!MODES.includes(mode)) refuseChoice(of, 'mode', MODES, '', mode)
  if (mode === 'shadow' && options.onShadowDenied === undefined) {
    throw new SluiceError('ERR_OPTION', `${of} needs onShadowDenied in mode 'shadow': otherwise nobody hears who would be denied`)
  }
  return checkLimits(of, options)
}

function checkLimits<R>(of: string, options: GateOptions<R>): readonly LimitOptions<R>[] {
  const { limits, limiter, rules, key, cost, store, failure } = options
  if (limits === undefined) {
    const limit = { limiter, rules, key, cost } as LimitOptions<R>
    checkLimit(of, limit, store, failure)
    return [limit]
  }
  if (!Array.isArray(limits) || limits.length === 0) {
    throw new SluiceError('ERR_OPTION', `${of} needs limits to be a list of at least one, got ${show(limits)}`, {
      option: 'limits',
      value: limits,
    })
  }
  for (const name of LIMIT_OPTIONS) {
    if (options[name] !== undefined) throw new SluiceError('ERR_OPTION', `${of} takes ${name} inside of limits, or no limits`)
  }
  for (const limit of limits) {
    checkOptions(`${of}: a limit`, limit, LIMIT_OPTIONS)
    checkLimit(`${of}: a limit`, limit, store, failure)
  }
  return limits
}

function checkLimit<R>(of: string, { limiter, rules, key, cost }: LimitOptions<R>, store: unknown, failure: unknown): void {
  if ((limiter === undefined) === (rules === undefined)) {
    throw new SluiceError(
      'ERR_OPTION',
      `${of} needs either limiter or rules, and ${limiter === undefined ? 'has neither' : 'has both'}`,
    )
  }
  if (limiter !== undefined && (store !== undefined || failure !== undefined)) {
    throw new SluiceError('ERR_OPTION', `${of} takes store and failure for rules: a limiter has its own`)
  }
  checkFunction(of, 'key', key)
  if (cost !== undefined && typeof cost !== 'number') checkFunction(of, 'cost', cost, 'a whole number or a function')
}

function checkFunction(of: string, name: string, value: unknown, expected = 'a function'): void {
  if (value === undefined || typeof value === 'function') return
  throw new SluiceError('ERR_OPTION', `${of} needs ${name} to be ${expected}, got ${show(value)}`, { option: name, value })
}

function refuseChoice(of: string, name: string, choices: readonly string[], or: string, value: unknown): never {
  const known = choices.map((choice) => `'${choice}'`).join(', ')
  throw new SluiceError('ERR_OPTION', `${of} needs ${name} to be ${known}${or}, got ${show(value)}`, { option: name, value })
}
