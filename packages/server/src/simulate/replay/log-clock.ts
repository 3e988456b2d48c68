// The clock of a simulation. It follows the times of the log.
// Invariant: it never steps back. A line that is earlier than the clock is decided at the time of the clock, and counted.

import type { Clock } from 'sluice'

export class LogClock implements Clock {
  /** Time of the first and of the last decided line. NaN before the first. */
  firstMs = Number.NaN
  #nowMs = 0
  /** Number of lines that were earlier than the clock. */
  late = 0
  /** The longest time by which a line was earlier than the clock. */
  latestMs = 0

  now(): number {
    return this.#nowMs
  }

  /** Moves the clock to the time of the next line. Returns the time of the clock. */
  follow(timeMs: number): number {
    if (timeMs >= this.#nowMs) {
      if (this.#nowMs === 0) this.firstMs = timeMs
      this.#nowMs = timeMs
      return timeMs
    }
    this.late += 1
    this.latestMs = Math.max(this.latestMs, this.#nowMs - timeMs)
    return this.#nowMs
  }
}
