// The contract between a limiter and the guard of its store, which decides what happens when the store fails.

import type { Call, Figures } from './call.ts'
import type { SluiceError } from './errors.ts'
import type { Rule } from './rule.ts'
import type { Store, Tally } from './store.ts'

/** Why the store did not decide: no answer in time, an error of one of three kinds, or the breaker was open and it was not asked. */
export type FailureReason = 'timeout' | 'refused' | 'unknown' | 'fatal' | 'not-asked'

/** The answer if the store gives none: that of a memory store with the same rules, always yes, always no, or an error. */
export type Fallback = 'local' | 'allow' | 'deny' | 'throw'

export interface FailureEvent {
  readonly reason: FailureReason
  readonly error: SluiceError
}

/** Number of failed calls so far, by reason, and of recoveries. */
export type FailureCounts = Readonly<Record<FailureReason | 'recovered', number>>

/** Why and how a decision was made without the store. */
export interface DecisionFailure {
  readonly reason: FailureReason
  readonly then: Exclude<Fallback, 'throw'>
}

export interface FailureOptions {
  /** The longest time that a call may take, in ms. Default: 500. */
  readonly timeoutMs?: number
  /**
   * The answer if the store gives none. `'local'`: that of a memory store in this process, with the same rules. `'allow'`, `'deny'`:
   * `hit` and `peek` answer that, without counting, and calls that ask for a number fail. `'throw'` (default): the call fails.
   */
  readonly then?: Fallback
  /** After so many failures in a row the store is not asked for a while. Default: 5. */
  readonly failures?: number
  /** Time between two attempts while the store is not asked, in ms. Default: 500. */
  readonly probeEveryMs?: number
  /**
   * The memory store that answers under `'local'`. By default all limiters over one store share one, as they share the store.
   * It stays yours: closing a limiter does not close it.
   */
  readonly standIn?: Store<'sync'>
}

/** Turns the answer of a call into what its caller gets. `failure` is there if the store did not decide. */
export type ReadFigures<V> = (figures: Figures, failure: DecisionFailure | undefined) => V

export interface Guard {
  /** Asks the store, within the deadline. If it fails, the fallback answers or the promise rejects. */
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
