// A circuit breaker: after several failures in a row the store is not asked for a while, and then by a few calls at a time.
// A few locked keys must not keep the breaker open for all others. So beside one call, a call on another key may try too, and the
// keys take turns at that.
// Invariants: an open breaker lets at most two calls through in each `probeEveryMs`, also if the clock steps. The failure of a call
// that entered before the breaker opened or closed does not change it afterwards.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'

/**
 * A chance to try: for one call at a time, and after a call without an answer not before `nextMs`. After `endsMs` another call may
 * try, although the call has not ended.
 */
interface Probe {
  call: Call | undefined
  nextMs: number
  endsMs: number
}

/** The longest time for which one call holds a probe. On Cloudflare Workers, a call whose request was cancelled never ends. */
const LONGEST_PROBE_MS = 30_000

/** Beyond so many keys that had the second probe, all are forgotten. */
const MOST_TRIED_KEYS = 100

export class Breaker {
  readonly #clock: TimerClock
  readonly #failures: number
  readonly #probeEveryMs: number
  #failuresInARow = 0
  /** The probe for any call. */
  readonly #first: Probe = { call: undefined, nextMs: 0, endsMs: 0 }
  /** The probe for a call on another key. */
  readonly #second: Probe = { call: undefined, nextMs: 0, endsMs: 0 }
  /** The latest call that took the first probe. */
  #firstCall: Call | undefined
  /** Keys that have had the second probe, which is now the turn of others. */
  readonly #triedKeys = new Set<string>()
  /** Number of times that the breaker has opened or closed. */
  #era = 0

  /** The breaker opens after `failures` in a row. Then each probe lets one call try in each `probeEveryMs`. */
  constructor(clock: TimerClock, failures: number, probeEveryMs: number) {
    this.#clock = clock
    this.#failures = failures
    this.#probeEveryMs = probeEveryMs
  }

  get isOpen(): boolean {
    return this.#failuresInARow >= this.#failures
  }

  /** Lets a call enter. Returns the present era, which the other methods take; undefined if the call may not ask. */
  enter(call: Call): number | undefined {
    if (!this.isOpen) return this.#era
    if (this.#isFree(this.#first)) {
      this.#take(this.#first, call)
      this.#firstCall = call
      return this.#era
    }
    if (!this.#isFree(this.#second)) return undefined
    // All callers have had their turn if nobody took the second probe for a whole interval.
    if (this.#isOver(this.#second.nextMs + this.#probeEveryMs, this.#probeEveryMs)) this.#triedKeys.clear()
    if (!this.#hasTurn(call)) return undefined
    this.#take(this.#second, call)
    return this.#era
  }

  /** Reports an answer of the store. It ends a series of failures. */
  answered(): void {
    // Nearly every call comes here, and there is hardly ever a series.
    if (this.#failuresInARow === 0) return
    if (this.isOpen) this.#era += 1
    this.#failuresInARow = 0
    this.#triedKeys.clear()
  }

  /** Reports that a call which entered in `era` does not ask the store. The next call may try instead. */
  leave(era: number, call: Call): void {
    if (era !== this.#era) return
    for (const probe of [this.#first, this.#second]) if (probe.call === call) probe.call = undefined
  }

  /** Reports that a call which entered in `era` has asked and says nothing about the store. The next probe waits for its interval. */
  endedUnknown(era: number, call: Call): void {
    if (era !== this.#era) return
    if (this.#first.call === call) this.#putOff(this.#first)
    if (this.#second.call !== call) return
    this.#putOff(this.#second)
    if (this.#triedKeys.size >= MOST_TRIED_KEYS) this.#triedKeys.clear()
    for (const { key } of call.charges) this.#triedKeys.add(key)
  }

  /** Reports the failure of a call that entered in `era`. */
  failed(era: number, call: Call): void {
    if (this.isOpen) return this.endedUnknown(era, call)
    if (era !== this.#era) return
    this.#failuresInARow += 1
    if (!this.isOpen) return
    this.#era += 1
    this.#putOff(this.#first)
    this.#putOff(this.#second)
  }

  /** True if the call has a key whose turn it is to have the second probe: neither the first probe nor an earlier turn had it. */
  #hasTurn({ charges }: Call): boolean {
    const isFirst = (key: string): boolean => this.#firstCall?.charges.some((charge) => charge.key === key) ?? false
    return charges.some(({ key }) => !this.#triedKeys.has(key) && !isFirst(key))
  }

  #take(probe: Probe, call: Call): void {
    probe.call = call
    probe.endsMs = this.#clock.now() + LONGEST_PROBE_MS
  }

  #putOff(probe: Probe): void {
    probe.call = undefined
    probe.nextMs = this.#clock.now() + this.#probeEveryMs
  }

  #isFree({ call, nextMs, endsMs }: Probe): boolean {
    return call === undefined ? this.#isOver(nextMs, this.#probeEveryMs) : this.#isOver(endsMs, LONGEST_PROBE_MS)
  }

  /** True if an interval has ended. */
  #isOver(endsMs: number, intervalMs: number): boolean {
    const leftMs = endsMs - this.#clock.now()
    // More than a whole interval can be left only if the clock has stepped back.
    return leftMs <= 0 || leftMs > intervalMs
  }
}
