// A circuit breaker: after a run of failures the store is not asked for a while, then one call at a time tries.
// Invariants: an open breaker lets one call through in each `probeEveryMs`, however the clock steps. A call from before it opened
// or closed does not change it afterwards.

import type { TimerClock } from '../core/clock.ts'

export class Breaker {
  readonly #clock: TimerClock
  readonly #failures: number
  readonly #probeEveryMs: number
  #failuresInARow = 0
  #nextProbeMs = 0
  #isProbing = false
  /** Goes up whenever the breaker opens or closes. */
  #era = 0

  /** Opens after so many `failures` in a row; then lets one call try in each `probeEveryMs`. */
  constructor(clock: TimerClock, failures: number, probeEveryMs: number) {
    this.#clock = clock
    this.#failures = failures
    this.#probeEveryMs = probeEveryMs
  }

  get isOpen(): boolean {
    return this.#failuresInARow >= this.#failures
  }

  /** Returns the era in which a call may ask, which it reports back with; undefined if it may not ask. */
  enter(): number | undefined {
    if (!this.isOpen) return this.#era
    if (this.#isProbing || !this.#isTimeToProbe()) return undefined
    this.#isProbing = true
    return this.#era
  }

  /** The store has answered: a run of failures ends here. */
  answered(): void {
    if (this.isOpen) this.#era += 1
    this.#failuresInARow = 0
    this.#isProbing = false
  }

  /** A call that entered in `era` says nothing about the store: the next one may try instead. */
  leave(era: number): void {
    if (era === this.#era) this.#isProbing = false
  }

  /** A call that entered in `era` has failed. */
  failed(era: number): void {
    if (era !== this.#era) return
    if (!this.isOpen) {
      this.#failuresInARow += 1
      if (!this.isOpen) return
      this.#era += 1
    }
    this.#isProbing = false
    this.#nextProbeMs = this.#clock.now() + this.#probeEveryMs
  }

  #isTimeToProbe(): boolean {
    const leftMs = this.#nextProbeMs - this.#clock.now()
    // More than a whole interval is left only after the clock has stepped back.
    return leftMs <= 0 || leftMs > this.#probeEveryMs
  }
}
