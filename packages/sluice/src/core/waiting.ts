// The contract between a limiter and its waiting lines, which `wait` needs.

import type { Call } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'

export interface Waiter {
  /** Text that identifies the subject. Callers with the same text wait in one line. */
  readonly subject: string
  /** The hit to make. */
  readonly call: Call
  readonly signal: AbortSignal | undefined
  readonly maxWaitMs: number
}

export interface Waiting {
  /** Adds a caller to the line of its subject. Resolves when its hit is allowed. */
  join(waiter: Waiter): Promise<Decision>
  /**
   * Reports a call that may free units, such as a refund. `change` is its result or the promise of it. After it, callers that wait
   * for a state of the call try again.
   */
  nudge(call: Call, change: unknown): void
  /** Rejects every waiting caller. */
  close(reason: Error): void
}

export interface WaitingContext {
  readonly clock: TimerClock
  hit(call: Call): Decision | Promise<Decision>
}

/** Makes the waiting lines of one limiter. */
export type MakeWaiting = (context: WaitingContext) => Waiting
