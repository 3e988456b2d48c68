// The contract between a limiter and the guard of its store. The guard handles failures of the store.

import type { Call, Figures } from './call.ts'
import type { SluiceError } from './errors.ts'
import type { Rule } from './rule.ts'
import type { Result, Store, Tally, Timing } from './store.ts'

/**
 * The reason why the store did not decide:
 * - `'timeout'`: the store did not answer in time.
 * - `'refused'`, `'unknown'`, `'fatal'`: the store failed with an error of this kind.
 * - `'not-asked'`: the breaker was open, so the store was not asked.
 */
export type FailureReason = 'timeout' | 'refused' | 'unknown' | 'fatal' | 'not-asked'

/** The fallback, which decides after the store has failed. `FailureOptions.then` explains each value. */
export type Fallback = 'local' | 'allow' | 'deny' | 'throw'

export interface FailureEvent {
  readonly reason: FailureReason
  readonly error: SluiceError
}

/** Number of failed calls for each reason, and number of recoveries. */
export type FailureCounts = Readonly<Record<FailureReason | 'recovered', number>>

/** Describes a decision that was made without the store: the reason, and the fallback that decided. */
export interface DecisionFailure {
  readonly reason: FailureReason
  readonly then: Exclude<Fallback, 'throw'>
}

export interface FailureOptions {
  /** Time after which a call without an answer fails, in ms. Without effect on a synchronous store. Default: 500. */
  readonly timeoutMs?: number
  /**
   * The fallback if the store fails.
   * - `'local'`: a memory store in this process answers, with the same rules.
   * - `'allow'` and `'deny'`: `hit` and `peek` allow or deny, and count nothing. Methods that return a number fail.
   * - `'throw'` (default): the call fails.
   */
  readonly then?: Fallback
  /** Number of failures in a row that open the breaker. While it is open, calls do not ask the store. Default: 5. */
  readonly failures?: number
  /** Time between two attempts to reach the store while the breaker is open, in ms. Default: 500. */
  readonly probeEveryMs?: number
  /**
   * The memory store that answers under `'local'`. By default all limiters over one store share one stand-in. A closed limiter
   * does not close a stand-in that was passed here.
   */
  readonly standIn?: Store<'sync'>
}

/** Turns the figures of a call into the caller's result. `failure` is set if the store did not decide. */
export type ReadFigures<V> = (figures: Figures, failure: DecisionFailure | undefined) => V

export interface Guard<T extends Timing = Timing> {
  /**
   * Asks the store, within the deadline if it is asynchronous. If the store fails, the fallback answers or the call fails. A call with
   * a `source` is answered by this source alone.
   */
  ask<V>(call: Call, read: ReadFigures<V>): Result<T, V>
  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void
  readonly counts: FailureCounts
}

export interface GuardContext<T extends Timing> {
  readonly tally: Tally<T>
  readonly rules: readonly Rule[]
  readonly options: FailureOptions
  /**
   * Makes the memory store that answers under `'local'` for all limiters over the store. One that is passed is only prepared for this
   * limiter, which may hold units, though the limiter that made it does not.
   */
  makeStandIn(known?: Store<'sync'>): Store<'sync'>
}

/** Makes the guard of one limiter. Throws ERR_OPTION if the options are wrong. */
export type MakeGuard<T extends Timing = Timing> = (context: GuardContext<T>) => Guard<T>
