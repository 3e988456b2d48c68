// Clocks. Core and algorithms read no clock: the store that keeps a state gives the time.

/** Gives the time in milliseconds since the epoch. Any object with `now()` is a clock. */
export interface Clock {
  now(): number
  /**
   * Calls `callback` once, after `delayMs`. Returns a function that cancels it. Without `after`, waits use the system's timers.
   */
  after?(delayMs: number, callback: () => void): () => void
}

/** A clock with timers. */
export type TimerClock = Required<Clock>
