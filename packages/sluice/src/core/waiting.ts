// The contract between a limiter and the waiting lines of its `wait`.

import type { Call } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'

export interface Waiter {
  /** Text of the subject. Callers with the same text wait in one line. */
  readonly subject: string
  /** The hit to make. */
  readonly call: Call
  readonly signal: AbortSignal | undefined
  readonly maxWaitMs: number
}

export interface Waiting {
  /** Adds a caller to its line. Resolves when its hit is allowed. */
  join(waiter: Waiter): Promise<Decision>
  /** Lets callers that wait for a state of the call try again once `change` has settled, because it may have freed units. */
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
