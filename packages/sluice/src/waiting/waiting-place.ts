// One caller in a waiting line: its promise, and the timers that belong to it.
// Invariant: code that runs for this caller makes its timers. On Cloudflare Workers a timer ends with the request that made it,
// and a request that has no timer of its own is ended as hung. On Node this changes nothing.

import type { TimerClock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Waiter } from '../core/waiting.ts'

/** Callbacks of a place to its line. */
export interface PlaceEvents {
  /** The signal was aborted. */
  onAbort(): void
  /** `maxWaitMs` have passed since the first denial. */
  onPatienceOver(): void
  /** Comes every `BEAT_MS` after `beat`. */
  onBeat(): void
  /** Comes after `callUp`, in the caller's own request. */
  onCall(): void
}

/** The caller looks at its line so often, in case that the request which was to wake it has ended. */
const BEAT_MS = 10_000

/** A timer may fire so much before the clock says that it is due. */
const EARLY_MS = 10

const nothing = (): void => {}

export class Place {
  readonly waiter: Waiter
  readonly decision: Promise<Decision>
  hasLeft = false
  /** Time of the first denial that this caller learned of. `maxWaitMs` counts from here. */
  deniedAtMs: number | undefined
  /** Set while its own attempt is under way: it leaves with this reason if the attempt is denied. */
  leavesWith: { readonly reason: unknown } | undefined
  readonly #clock: TimerClock
  #resolve: (decision: Decision) => void = nothing
  #reject: (reason: unknown) => void = nothing
  #stopListening = nothing
  #stopPatience = nothing
  #stopBeat = nothing
  #callUp = nothing
  #events: PlaceEvents | undefined

  constructor(waiter: Waiter, clock: TimerClock) {
    this.waiter = waiter
    this.#clock = clock
    this.decision = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Starts to wait. */
  stay(events: PlaceEvents): void {
    const { signal } = this.waiter
    this.#events = events
    const onAbort = (): void => events.onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#stopListening = () => signal?.removeEventListener('abort', onAbort)
    this.#awaitCall()
    this.countPatience()
  }

  /** Keeps a timer of its own, as long as no other one is its own. */
  beat(): void {
    this.#stopBeat = this.#clock.after(BEAT_MS, () => {
      this.beat()
      this.#events?.onBeat()
    })
  }

  stopBeating(): void {
    this.#stopBeat()
  }

  /** Starts the timer of `maxWaitMs`, once there was a denial to count from. */
  countPatience(): void {
    const { maxWaitMs } = this.waiter
    if (this.deniedAtMs === undefined || maxWaitMs === Number.POSITIVE_INFINITY || this.#stopPatience !== nothing) return
    const endMs = this.deniedAtMs + maxWaitMs
    const onTimer = (): void => {
      const earlyMs = endMs - this.#clock.now()
      // More than a little early means that the clock was set back: then the timer is right.
      if (earlyMs > 0 && earlyMs <= EARLY_MS) this.#stopPatience = this.#clock.after(earlyMs, onTimer)
      else this.#events?.onPatienceOver()
    }
    this.#stopPatience = this.#clock.after(Math.max(0, endMs - this.#clock.now()), onTimer)
  }

  /** Has `onCall` run in the caller's own request: a promise goes on in the request that awaits it. */
  callUp(): void {
    this.#callUp()
  }

  grant(decision: Decision): void {
    this.#leave()
    this.#resolve(decision)
  }

  refuse(reason: unknown): void {
    this.#leave()
    this.#reject(reason)
  }

  #leave(): void {
    this.hasLeft = true
    this.#stopListening()
    this.#stopPatience()
    this.#stopBeat()
    this.#callUp = nothing
  }

  #awaitCall(): void {
    new Promise<void>((resolve) => {
      this.#callUp = resolve
    }).then(() => {
      if (this.hasLeft) return
      this.#awaitCall()
      this.#events?.onCall()
    })
  }
}
