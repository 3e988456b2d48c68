// The contract between a limiter and the guard of its store. The guard handles failures of the store.

import type { Call, Figures } from './call.ts'
import type { SluiceError } from './errors.ts'
import type { Rule } from './rule.ts'
import type { Store, Tally } from './store.ts'

/**
 * Reason why the store did not decide: no answer in time, an error of one of three kinds, or not asked because the breaker was
 * open.
 */
export type FailureReason = 'timeout' | 'refused' | 'unknown' | 'fatal' | 'not-asked'

/** The result of a call if the store fails: from a memory store with the same rules, always allow, always deny, or an error. */
export type Fallback = 'local' | 'allow' | 'deny' | 'throw'

export interface FailureEvent {
  readonly reason: FailureReason
  readonly error: SluiceError
}

/** Counts failed calls by reason, and recoveries. */
export type FailureCounts = Readonly<Record<FailureReason | 'recovered', number>>

/** The reason and the fallback of a decision that was made without the store. */
export interface DecisionFailure {
  readonly reason: FailureReason
  readonly then: Exclude<Fallback, 'throw'>
}

export interface FailureOptions {
  /** The longest time that a call may take, in ms. Default: 500. */
  readonly timeoutMs?: number
  /**
   * The fallback if the store fails.
   * - `'local'`: a memory store in this process answers, with the same rules.
   * - `'allow'` and `'deny'`: `hit` and `peek` return such a decision and count nothing. Calls that return a number fail.
   * - `'throw'` (default): the call fails.
   */
  readonly then?: Fallback
  /** Number of failures in a row after which the store is not asked for a while. Default: 5. */
  readonly failures?: number
  /** Time between two attempts while the store is not asked, in ms. Default: 500. */
  readonly probeEveryMs?: number
  /**
   * The memory store that answers under `'local'`. By default all limiters over one store share one stand-in.
   * A store that is passed here stays open when a limiter is closed.
   */
  readonly standIn?: Store<'sync'>
}

/** Turns the figures of a call into the caller's result. `failure` is set if the store did not decide. */
export type ReadFigures<V> = (figures: Figures, failure: DecisionFailure | undefined) => V

export interface Guard {
  /** Asks the store within the deadline. If the store fails, the fallback answers or the promise rejects. */
  ask<V>(call: Call, read: ReadFigures<V>): Promise<V>
  on(event: 'failure' | 'recovered', listener: (event: FailureEvent) => void): () => void
  readonly counts: FailureCounts
}

export interface GuardContext {
  readonly tally: Tally<'async'>
  readonly rules: readonly Rule[]
  readonly options: FailureOptions
  /** Makes the memory store that answers under `'local'` for all limiters over the store. */
  makeStandIn(): Store<'sync'>
}

/** Makes the guard of one limiter. Throws ERR_OPTION if the options are wrong. */
export type MakeGuard = (context: GuardContext) => Guard
