// A circuit breaker: after several failures in a row the store is not asked for a while, and then by one call at a time.
// Invariants: an open breaker lets one call through in each `probeEveryMs`, also if the clock steps. The failure of a call that
// entered before the breaker opened or closed does not change it afterwards.

import type { TimerClock } from '../core/clock.ts'

/**
 * After this time another call may try, although the one that tries has not ended. On Cloudflare Workers a call whose request has
 * ended never does.
 */
const LONGEST_PROBE_MS = 30_000

export class Breaker {
  readonly #clock: TimerClock
  readonly #failures: number
  readonly #probeEveryMs: number
  #failuresInARow = 0
  #nextProbeMs = 0
  #isProbing = false
  #probeEndsMs = 0
  /** Number of times that the breaker has opened or closed. */
  #era = 0

  /** The breaker opens after `failures` in a row. Then it lets one call try in each `probeEveryMs`. */
  constructor(clock: TimerClock, failures: number, probeEveryMs: number) {
    this.#clock = clock
    this.#failures = failures
    this.#probeEveryMs = probeEveryMs
  }

  get isOpen(): boolean {
    return this.#failuresInARow >= this.#failures
  }

  /** Returns the present era if a call may ask, for `failed`; undefined if the call may not ask. */
  enter(): number | undefined {
    if (!this.isOpen) return this.#era
    const isTime = this.#isProbing
      ? this.#isOver(this.#probeEndsMs, LONGEST_PROBE_MS)
      : this.#isOver(this.#nextProbeMs, this.#probeEveryMs)
    if (!isTime) return undefined
    this.#isProbing = true
    this.#probeEndsMs = this.#clock.now() + LONGEST_PROBE_MS
    return this.#era
  }

  /** Reports an answer of the store. It ends a series of failures. */
  answered(): void {
    if (this.isOpen) this.#era += 1
    this.#failuresInARow = 0
    this.#isProbing = false
  }

  /** Reports that a call which entered in `era` says nothing about the store. The next call may try instead. */
  leave(era: number): void {
    if (era === this.#era) this.#isProbing = false
  }

  /** Reports the failure of a call that entered in `era`. */
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

  /** True if an interval has ended. */
  #isOver(endsMs: number, intervalMs: number): boolean {
    const leftMs = endsMs - this.#clock.now()
    // More than a whole interval can be left only if the clock has stepped back.
    return leftMs <= 0 || leftMs > intervalMs
  }
}
