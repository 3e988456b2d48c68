// Where time comes from. Nothing in core or algorithms reads a clock by itself: the store that holds the state says what time it is.

/** Milliseconds since the epoch. Any object with `now()` will do. */
export interface Clock {
  now(): number
  /** Calls `callback` once, `delayMs` from now, and returns how to cancel it. Without it, waits use the system's timers. */
  after?(delayMs: number, callback: () => void): () => void
}

/** A clock that can also wake somebody up. */
export type TimerClock = Required<Clock>
