// The options of `reserving()`, and their check.

import { checkCost, checkCosts } from '../../core/cost.ts'
import type { Duration } from '../../core/duration.ts'
import { mustBe } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { ReserveOptions } from '../../core/reserving.ts'
import type { Cost } from '../../core/subject.ts'
import { type Count, checkCount } from '../../streams/counting.ts'
import { holdTimes } from '../../streams/hold-keeper.ts'
import type { MaybePromise } from '../gate/maybe-promise.ts'
import type { RequestContext } from '../gate/request-context.ts'

/** A response that has been sent, or that broke off. */
export interface EndedResponse<R> {
  readonly request: R
  readonly status: number
  /** Bytes of the body that were written. 0 for responses without a body: to HEAD, 204, 304. */
  readonly bytes: number
  /** False if the connection broke, or the body or the handler failed, before the whole body was sent. */
  readonly isComplete: boolean
  /** The units that are held, by rule name. */
  readonly granted: Readonly<Record<string, number>>
  /** The units that `count` counted; undefined without `count`, or if they are not known. */
  readonly counted: Cost | undefined
  /** Returns a field of the response. The name is in lower case. */
  header(name: string): string | undefined
}

export interface ReservingOptions<R> {
  // Callbacks are declared as methods, so that a callback with the framework's own type of request is accepted.

  /**
   * Units to hold for a request: an object with a number for each rule name, or one number for every rule that `cost` does not name.
   * Default: one place of each `concurrency` rule.
   */
  readonly hold?: Cost | ((request: R, context: RequestContext<R>) => MaybePromise<Cost>)
  /** The smallest number of units that are held if `hold` does not fit. Default: `hold`. */
  readonly atLeast?: Cost
  /**
   * Returns the units that a response used, or undefined for all held units. `'content-length'`: the bytes of its body. Default: those
   * that `count` counted, or all held units.
   */
  readonly used?: 'content-length' | ((response: EndedResponse<R>) => Cost | undefined)
  /** Makes the counter of a response's body: a function of a chunk, or a counter such as `openaiUsage()` of `sluice/streams`. */
  count?(request: R, context: RequestContext<R>): Count<string | Uint8Array>
  /** Time after which a hold expires if the process has crashed. Default: the shortest `ttl` of the `concurrency` rules, or `'1m'`. */
  readonly ttl?: Duration
  /** Time after which the hold of a response is not extended any more, so that it expires. Default: `'1h'`. */
  readonly longest?: Duration
  /** At the end of `ttl`, held units are charged (`'charge'`, default) or released. Places of `concurrency` rules are released. */
  readonly expired?: ReserveOptions['expired']
  /** The most open holds of one rule and key. Default: 1000. */
  readonly most?: number
}

const OPTIONS = ['hold', 'atLeast', 'used', 'count', 'ttl', 'longest', 'expired', 'most'] as const

/** Throws if an option is unknown or wrong. */
export function checkReserving<R>(options: ReservingOptions<R>): void {
  checkOptions('reserving', options, OPTIONS)
  const { hold, atLeast, used, count, ttl, longest, expired } = options
  if (typeof hold !== 'function' && hold !== undefined) checkUnits(hold)
  if (atLeast !== undefined) checkUnits(atLeast)
  if (used !== undefined && used !== 'content-length' && typeof used !== 'function') {
    throw mustBe('ERR_OPTION', 'used', "'content-length' or a function of the response", used)
  }
  if (count !== undefined && typeof count !== 'function') {
    throw mustBe('ERR_OPTION', 'count', 'a function that returns a function of a chunk, or a counter', count)
  }
  holdTimes(ttl ?? '1m', longest)
  if (expired !== undefined && expired !== 'charge' && expired !== 'release') {
    throw mustBe('ERR_OPTION', 'expired', "'charge' or 'release'", expired)
  }
}

/** Throws ERR_COST unless these are units: a whole number, or an object of whole numbers. */
export function checkUnits(units: unknown): void {
  if (typeof units === 'number') checkCost(units, 0)
  else {
    checkCosts(units)
    for (const [name, amount] of Object.entries(units)) checkCost(amount, 0, name)
  }
}

/** Returns the counter that `count` makes. */
export function counterOf<R>({ count }: ReservingOptions<R>, context: RequestContext<R>): Count<string | Uint8Array> | undefined {
  const made = count?.(context.request, context)
  if (count !== undefined) checkCount(made)
  return made
}
