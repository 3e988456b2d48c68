// Clocks. Core and algorithms read none: the store that holds a state gives the time.

/** Milliseconds since the epoch. Any object with `now()` will do. */
export interface Clock {
  now(): number
  /** Calls `callback` once, `delayMs` from now, and returns how to cancel it. Without it, waits use the system's timers. */
  after?(delayMs: number, callback: () => void): () => void
}

/** A clock that can also wake somebody up. */
export type TimerClock = Required<Clock>
