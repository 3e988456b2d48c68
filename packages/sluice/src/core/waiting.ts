// The contract between a limiter and the queues of its `wait`.

import type { Call } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'

export interface Waiter {
  /** Callers with the same text stand in one line. */
  readonly subject: string
  /** The hit to make. */
  readonly call: Call
  readonly signal: AbortSignal | undefined
  readonly maxWaitMs: number
}

export interface Waiting {
  /** Queues a caller; resolves when its hit is allowed. */
  join(waiter: Waiter): Promise<Decision>
  /** Has callers try again that wait for a state of the call, once `change` is done: it may have freed units. */
  nudge(call: Call, change: unknown): void
  /** Sends every caller away. */
  close(reason: Error): void
}

export interface WaitingContext {
  readonly clock: TimerClock
  hit(call: Call): Decision | Promise<Decision>
}

/** Makes the queues of one limiter. */
export type MakeWaiting = (context: WaitingContext) => Waiting
