// A place: one caller in a waiting line, with its promise and its timers.
// Invariant: a caller's timers are set by code that runs in the caller's own request. Cloudflare Workers stop a timer when the
// request that set it ends, and end a request that waits without a timer. Node makes no such difference.

import type { TimerClock } from '../core/clock.ts'
import type { Turn } from '../core/waiting.ts'

/** A caller's work, and how long it is willing to wait. */
export interface Waiter {
  readonly turn: Turn<unknown>
  readonly signal: AbortSignal | undefined
  readonly maxWaitMs: number
}

/** Callbacks of a place to its line. */
export interface PlaceEvents {
  /** The signal was aborted. */
  onAbort(): void
  /** `maxWaitMs` have passed since the first denial. */
  onPatienceOver(): void
  /** Called every `BEAT_MS` after `beat`. */
  onBeat(): void
  /** Called after `callUp`, in the caller's own request. */
  onCall(): void
}

/** Interval at which a waiting caller checks its line. The request whose timer should wake the caller may have ended. */
const BEAT_MS = 10_000

/** A living caller beats at least once in so many intervals of another one. */
const MOST_MISSED = 2

/** The most time that a timer may fire too early by the clock. */
const EARLY_MS = 10

const nothing = (): void => {}

export class Place {
  readonly waiter: Waiter
  /** The answer that allows the caller's call. */
  readonly answer: Promise<unknown>
  hasLeft = false
  /** Time of the first denial that this caller knows of. `maxWaitMs` counts from here. */
  deniedAtMs: number | undefined
  /** Set during the caller's own attempt: it leaves with this reason if the attempt is denied. */
  leavesWith: { readonly reason: unknown } | undefined
  readonly #clock: TimerClock
  #resolve: (answer: unknown) => void = nothing
  #reject: (reason: unknown) => void = nothing
  #stopListening = nothing
  #stopPatience = nothing
  #stopBeat = nothing
  #callUp = nothing
  #events: PlaceEvents | undefined
  /** Number of beats so far. */
  #beats = 0
  /** The place that this one watches, with its beats at the first of the watcher's beats, and the number of these. */
  #watched: { readonly place: Place; readonly beats: number; times: number } | undefined

  constructor(waiter: Waiter, clock: TimerClock) {
    this.waiter = waiter
    this.#clock = clock
    this.answer = new Promise((resolve, reject) => {
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

  /** Sets a timer in the caller's own request that fires every `BEAT_MS`. For a caller without any other timer. */
  beat(): void {
    this.#stopBeat = this.#clock.after(BEAT_MS, () => {
      this.#beats += 1
      this.beat()
      this.#events?.onBeat()
    })
  }

  /** Called at each beat of this place. Returns true if the other place has not beaten for several of them: its request has ended. */
  missesBeatsOf(other: Place): boolean {
    if (this.#watched?.place !== other || this.#watched.beats !== other.#beats) {
      this.#watched = { place: other, beats: other.#beats, times: 0 }
    }
    this.#watched.times += 1
    return this.#watched.times > MOST_MISSED
  }

  stopBeating(): void {
    this.#stopBeat()
  }

  /** Starts the timer of `maxWaitMs` after the first denial. */
  countPatience(): void {
    const { maxWaitMs } = this.waiter
    if (this.deniedAtMs === undefined || maxWaitMs === Number.POSITIVE_INFINITY || this.#stopPatience !== nothing) return
    const endMs = this.deniedAtMs + maxWaitMs
    const onTimer = (): void => {
      const earlyMs = endMs - this.#clock.now()
      // If the timer is more than a little early, the clock was set back. Then the timer is right.
      if (earlyMs > 0 && earlyMs <= EARLY_MS) this.#stopPatience = this.#clock.after(earlyMs, onTimer)
      else this.#events?.onPatienceOver()
    }
    this.#stopPatience = this.#clock.after(Math.max(0, endMs - this.#clock.now()), onTimer)
  }

  /** Calls `onCall` soon, in the caller's own request: a callback of `then` runs in the request that called `then`. */
  callUp(): void {
    this.#callUp()
  }

  grant(answer: unknown): void {
    this.#leave()
    this.#resolve(answer)
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
