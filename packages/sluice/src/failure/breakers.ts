// The breakers of one store: one for each part that fails independently, such as a server of a cluster.
// Invariant: a limiter that has reported a failure reports the recovery, also if the keys of the failed part have moved to another.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { Breaker } from './breaker.ts'

/** A breaker opens after `failures` in a row, and lets a call try every `probeEveryMs`. */
export interface BreakerOptions {
  readonly failures: number
  readonly probeEveryMs: number
}

/** Returns the names of the parts of a store that a call needs. */
export type PartsOf = (call: Call) => readonly string[]

/** The most breakers of a store. All are dropped when there would be more, because servers of a cluster come and go. */
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

/** A call that may ask the store, with the breakers that it passed. It reports the outcome to them. */
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
    for (const breaker of this.#breakers) if (breaker.isOpen) return true
    return false
  }

  /** Reports that these parts, by default all, have answered. Nothing is known about the others. */
  answered(parts: readonly string[] = this.#parts): void {
    this.#breakers.forEach((breaker, i) => {
      if (parts.includes(this.#parts[i])) breaker.answered()
      else breaker.leave(this.#eras[i], this.call)
    })
  }

  /** Reports that these parts, by default all, have failed. Nothing is known about the others. */
  failed(parts: readonly string[] = this.#parts): void {
    this.#breakers.forEach((breaker, i) => {
      if (parts.includes(this.#parts[i])) breaker.failed(this.#eras[i], this.call)
      else breaker.leave(this.#eras[i], this.call)
    })
  }
}

/** One limiter's view of its store's breakers. */
export class BreakerView {
  readonly #breakers: Breakers
  readonly #partsOf: PartsOf
  /** The last failed call of each failed part. It tells which part has these keys now. */
  readonly #failedCalls = new Map<string, Call>()

  #lastParts: readonly string[] = []
  #lastBreakers: readonly Breaker[] = []

  constructor(breakers: Breakers, partsOf: PartsOf) {
    this.#breakers = breakers
    this.#partsOf = partsOf
  }

  /** Lets a call enter. Returns undefined if the call must not ask. */
  enter(call: Call): Entry | undefined {
    const parts = this.#partsOf(call)
    const breakers = this.#breakersOf(parts)
    const eras: number[] = []
    for (let i = 0; i < breakers.length; i++) {
      const era = breakers[i].enter(call)
      if (era === undefined) {
        for (const [j, entered] of breakers.slice(0, i).entries()) entered.leave(eras[j], call)
        this.#noteFailure(call, [parts[i]])
        return undefined
      }
      eras.push(era)
    }
    return new Entry(call, parts, breakers, eras)
  }

  /** Returns the breakers of the parts. The last result is kept, because most calls need the same parts as the call before. */
  #breakersOf(parts: readonly string[]): readonly Breaker[] {
    if (parts === this.#lastParts) return this.#lastBreakers
    const breakers = parts.map((part) => this.#breakers.of(part))
    this.#lastParts = parts
    this.#lastBreakers = breakers
    return breakers
  }

  /** `failed` names the parts that failed, if they are known. */
  failed(entry: Entry, failed?: readonly string[]): void {
    entry.failed(failed)
    this.#noteFailure(entry.call, failed ?? this.#partsOf(entry.call))
  }

  /** Reports an answer. Returns true if it ends a failure. `answered` names the parts that answered, if not all did. */
  answered(entry: Entry, answered?: readonly string[]): boolean {
    entry.answered(answered)
    if (this.#failedCalls.size === 0) return false
    const parts = answered ?? this.#partsOf(entry.call)
    const isAnswered = (call: Call): boolean => this.#partsOf(call).every((part) => parts.includes(part))
    const ended = [...this.#failedCalls].filter(([part, call]) => parts.includes(part) || isAnswered(call))
    for (const [part] of ended) {
      this.#failedCalls.delete(part)
      // The keys of the failed call have moved to another part.
      if (!parts.includes(part)) this.#breakers.forget(part)
    }
    return ended.length > 0
  }

  #noteFailure(call: Call, parts: readonly string[]): void {
    if (this.#failedCalls.size >= MOST_PARTS) this.#failedCalls.clear()
    for (const part of parts) this.#failedCalls.set(part, call)
  }
}
