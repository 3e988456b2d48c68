// The breakers of one store: one for each part that fails independently, such as a server of a cluster. A store without parts has one.
// Invariant: a limiter that reported a failure reports its end, also if the failed part's keys have moved to another part.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { Breaker } from './breaker.ts'

/** Number of failures that open a breaker, and time between two tries. */
export interface BreakerOptions {
  readonly failures: number
  readonly probeEveryMs: number
}

/** Names the parts of a store that a call needs. */
export type PartsOf = (call: Call) => readonly string[]

/** Servers come and go. Beyond so many, all are forgotten. */
const MOST_PARTS = 1000

export class Breakers {
  readonly #clock: TimerClock
  readonly #options: BreakerOptions
  readonly #byPart = new Map<string, Breaker>()

  constructor(clock: TimerClock, options: BreakerOptions) {
    this.#clock = clock
    this.#options = options
  }

  of(part: string): Breaker {
    let breaker = this.#byPart.get(part)
    if (breaker === undefined) {
      if (this.#byPart.size === MOST_PARTS) this.#byPart.clear()
      breaker = new Breaker(this.#clock, this.#options.failures, this.#options.probeEveryMs)
      this.#byPart.set(part, breaker)
    }
    return breaker
  }

  forget(part: string): void {
    this.#byPart.delete(part)
  }
}

/** A call that may ask: the breakers that it passed. */
export class Entry {
  readonly call: Call
  /** Names of the parts, in the order of the breakers. */
  readonly #parts: readonly string[]
  readonly #breakers: readonly Breaker[]
  readonly #eras: readonly number[]

  constructor(call: Call, parts: readonly string[], breakers: readonly Breaker[], eras: readonly number[]) {
    this.call = call
    this.#parts = parts
    this.#breakers = breakers
    this.#eras = eras
  }

  get isOpen(): boolean {
    return this.#breakers.some(({ isOpen }) => isOpen)
  }

  /** The store has answered; if only some parts are given, these have, and of the others nothing is known. */
  answered(parts: readonly string[] = this.#parts): void {
    this.#breakers.forEach((breaker, i) => {
      if (parts.includes(this.#parts[i])) breaker.answered()
      else breaker.leave(this.#eras[i])
    })
  }

  /** The call has failed; if only some parts are given, because of these, and the others are not to blame. */
  failed(parts: readonly string[] = this.#parts): void {
    this.#breakers.forEach((breaker, i) => {
      if (parts.includes(this.#parts[i])) breaker.failed(this.#eras[i])
      else breaker.leave(this.#eras[i])
    })
  }
}

/** One limiter's view of its store's breakers. */
export class BreakerView {
  readonly #breakers: Breakers
  readonly #partsOf: PartsOf
  /** For each part that is failing the last call that failed there, to find out where its keys are now. */
  readonly #failedCalls = new Map<string, Call>()

  constructor(breakers: Breakers, partsOf: PartsOf) {
    this.#breakers = breakers
    this.#partsOf = partsOf
  }

  /** Returns undefined if the call must not ask. */
  enter(call: Call): Entry | undefined {
    const parts = this.#partsOf(call)
    const breakers = parts.map((part) => this.#breakers.of(part))
    const eras: number[] = []
    for (const [i, breaker] of breakers.entries()) {
      const era = breaker.enter()
      if (era === undefined) {
        for (const [j, entered] of breakers.slice(0, i).entries()) entered.leave(eras[j])
        this.#noteFailure(call, [parts[i]])
        return undefined
      }
      eras.push(era)
    }
    return new Entry(call, parts, breakers, eras)
  }

  /** `failed`: the parts that are to blame, if they are known. */
  failed(entry: Entry, failed?: readonly string[]): void {
    entry.failed(failed)
    this.#noteFailure(entry.call, failed ?? this.#partsOf(entry.call))
  }

  /** Returns true if the answer ends a failure. `answered`: the parts that have answered, if not all have. */
  answered(entry: Entry, answered?: readonly string[]): boolean {
    entry.answered(answered)
    if (this.#failedCalls.size === 0) return false
    const parts = answered ?? this.#partsOf(entry.call)
    const isAnswered = (call: Call): boolean => this.#partsOf(call).every((part) => parts.includes(part))
    const ended = [...this.#failedCalls].filter(([part, call]) => parts.includes(part) || isAnswered(call))
    for (const [part] of ended) {
      this.#failedCalls.delete(part)
      // Its keys have moved to another part.
      if (!parts.includes(part)) this.#breakers.forget(part)
    }
    return ended.length > 0
  }

  #noteFailure(call: Call, parts: readonly string[]): void {
    if (this.#failedCalls.size >= MOST_PARTS) this.#failedCalls.clear()
    for (const part of parts) this.#failedCalls.set(part, call)
  }
}
