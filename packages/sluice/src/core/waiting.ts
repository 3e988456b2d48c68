// The contract between a limiter and its waiting lines, which `wait` needs.

import type { Call } from './call.ts'
import type { Decision } from './decision.ts'
import type { WaitOptions } from './limiter.ts'
import type { LimiterContext } from './limiter-context.ts'
import type { Timing } from './store.ts'
import type { Subject } from './subject.ts'

/** The longest wait of a caller, and the signal that ends it. */
export type Patience = Pick<WaitOptions, 'signal' | 'maxWaitMs'>

/** The work of a caller whose turn it is. */
export interface Turn<V> {
  /** The call that is asked. Its charges name the states that the caller waits for. */
  readonly call: Call
  /** True if units may come back before the wait of a denial is over. */
  readonly isEstimate: boolean
  /** Asks the store. */
  attempt(): V | Promise<V>
  decisionOf(answer: V): Decision
}

export interface Waiting {
  /** Adds a caller to the line of its subject. Resolves when its hit is allowed. Throws or rejects if an option is wrong. */
  join(subject: Subject, options: WaitOptions): Promise<Decision>
  /** Adds a caller with another call than a hit. Resolves with the answer to it, when it is allowed. */
  takeTurn<V>(subject: Subject, patience: Patience, turn: Turn<V>): Promise<V>
  /**
   * Reports a call that may free units, such as a refund. `change` is its result or the promise of it. After it, callers that wait
   * for a state of the call try again.
   */
  nudge(call: Call, change: unknown): void
  /** Rejects every waiting caller, because the limiter was closed. */
  close(): void
}

/** The option `waiting` of a limiter. */
export interface WaitingOption {
  open<T extends Timing>(context: LimiterContext<T>): Waiting
}
