// The contract between a limiter and the waiting lines of its `wait`.

import type { Call } from './call.ts'
import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'
import type { WaitOptions } from './limiter.ts'
import type { Cost, Subject } from './subject.ts'

export interface Waiting {
  /** Adds a caller to its subject's line. Resolves when its hit is allowed. Bad options throw or reject. */
  join(subject: Subject, options: WaitOptions): Promise<Decision>
  /** Lets callers that wait for a state of the call try again once `change` has settled, because it may have freed units. */
  nudge(call: Call, change: unknown): void
  /** Rejects every waiting caller, because the limiter was closed. */
  close(): void
}

export interface WaitingContext {
  readonly clock: TimerClock
  /** Makes the hit of a caller. Throws if the subject or the cost is wrong. */
  callOf(subject: Subject, cost: Cost | undefined): Call
  hit(call: Call): Decision | Promise<Decision>
}

/** Makes the waiting lines of one limiter. */
export type MakeWaiting = (context: WaitingContext) => Waiting
