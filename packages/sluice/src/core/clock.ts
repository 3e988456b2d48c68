// The contract of a clock. Code in core and algorithms never reads a clock: it gets the time as an argument.

/** Any object with `now()` is a clock. */
export interface Clock {
  /** Returns the time in milliseconds since the epoch. */
  now(): number
  /**
   * Calls `callback` once, after `delayMs`. Returns a function that cancels this. If a clock has no `after`, the system's timers
   * are used. A timer in the background does not keep the process alive.
   */
  after?(delayMs: number, callback: () => void, isInBackground?: boolean): () => void
}

/** A clock that has `after`. */
export type TimerClock = Required<Clock>
