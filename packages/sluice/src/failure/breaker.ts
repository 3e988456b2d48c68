// A circuit breaker: after several failures in a row the store is not asked for a while, and then by one call at a time.
// One locked key must not keep the breaker open for all others. So if the call that tries is on keys that have failed before, one
// call on another key may try too.
// Invariants: an open breaker lets one call through in each `probeEveryMs`, or two if the first is on failed keys, also if the
// clock steps. The failure of a call that entered before the breaker opened or closed does not change it afterwards.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'

/** A chance to try: for one call at a time, and after a failure not before `nextMs`. */
interface Probe {
  call: Call | undefined
  nextMs: number
}

/** The most failed keys that are remembered. */
const MOST_FAILED_KEYS = 100

export class Breaker {
  readonly #clock: TimerClock
  readonly #failures: number
  readonly #probeEveryMs: number
  #failuresInARow = 0
  /** The probe for any call. */
  readonly #first: Probe = { call: undefined, nextMs: 0 }
  /** The probe for a call on keys that have not failed. */
  readonly #second: Probe = { call: undefined, nextMs: 0 }
  /** True if the latest call that took the first probe was on failed keys. */
  #isSecondNeeded = false
  /** Keys of the calls that have failed since the last answer. */
  readonly #failedKeys = new Set<string>()
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

  /** Lets a call enter. Returns the present era, which `failed` and `leave` take; undefined if the call may not ask. */
  enter(call: Call): number | undefined {
    if (!this.isOpen) return this.#era
    const hasFailed = call.charges.every(({ key }) => this.#failedKeys.has(key))
    if (this.#isFree(this.#first)) {
      this.#first.call = call
      this.#isSecondNeeded = hasFailed
    } else if (this.#isSecondNeeded && !hasFailed && this.#isFree(this.#second)) this.#second.call = call
    else return undefined
    return this.#era
  }

  /** Reports an answer of the store. It ends a series of failures. */
  answered(): void {
    // Nearly every call comes here, and there is hardly ever a series.
    if (this.#failuresInARow === 0) return
    if (this.isOpen) this.#era += 1
    this.#failuresInARow = 0
    this.#first.call = undefined
    this.#second.call = undefined
    this.#failedKeys.clear()
  }

  /** Reports that a call which entered in `era` says nothing about the store. The next call may try instead. */
  leave(era: number, call: Call): void {
    if (era !== this.#era) return
    for (const probe of [this.#first, this.#second]) if (probe.call === call) probe.call = undefined
  }

  /** Reports the failure of a call that entered in `era`. */
  failed(era: number, call: Call): void {
    if (era !== this.#era) return
    for (const { key } of call.charges) if (this.#failedKeys.size < MOST_FAILED_KEYS) this.#failedKeys.add(key)
    if (this.isOpen) {
      for (const probe of [this.#first, this.#second]) if (probe.call === call) this.#putOff(probe)
      return
    }
    this.#failuresInARow += 1
    if (!this.isOpen) return
    this.#era += 1
    this.#isSecondNeeded = false
    this.#putOff(this.#first)
    this.#second.nextMs = this.#first.nextMs
  }

  #putOff(probe: Probe): void {
    probe.call = undefined
    probe.nextMs = this.#clock.now() + this.#probeEveryMs
  }

  #isFree({ call, nextMs }: Probe): boolean {
    if (call !== undefined) return false
    const leftMs = nextMs - this.#clock.now()
    // More than a whole interval can be left only if the clock has stepped back.
    return leftMs <= 0 || leftMs > this.#probeEveryMs
  }
}
