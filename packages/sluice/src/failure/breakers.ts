// The breakers of one store: one for each part that fails independently, such as a server of a cluster.
// Invariant: a limiter that has reported a failure reports the recovery, also if the keys of the failed part have moved to another.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { FailureReason } from '../core/guard.ts'
import type { PartOutcomes } from '../core/store.ts'
import { Breaker } from './breaker.ts'

/** A breaker opens after `failures` in a row, and lets a call try every `probeEveryMs`. */
export interface BreakerOptions {
  readonly failures: number
  readonly probeEveryMs: number
}

/** The parts of a store without parts. */
export const WHOLE: readonly string[] = ['']

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
  readonly parts: readonly string[]
  readonly #breakers: readonly Breaker[]
  readonly #eras: readonly number[]

  constructor(call: Call, parts: readonly string[], breakers: readonly Breaker[], eras: readonly number[]) {
    this.call = call
    this.parts = parts
    this.#breakers = breakers
    this.#eras = eras
  }

  get isOpen(): boolean {
    for (const breaker of this.#breakers) if (breaker.isOpen) return true
    return false
  }

  /** Names of the parts whose breakers are open. */
  get openParts(): readonly string[] {
    return this.parts.filter((_, i) => this.#breakers[i].isOpen)
  }

  /** Reports that all parts have answered. */
  answered(): void {
    for (const breaker of this.#breakers) breaker.answered()
  }

  /** Reports that some parts have answered, and that others have failed. Nothing is known about the rest. */
  ended({ answered, failed }: PartOutcomes): void {
    this.#breakers.forEach((breaker, i) => {
      if (failed.includes(this.parts[i])) breaker.failed(this.#eras[i], this.call)
      else if (answered.includes(this.parts[i])) breaker.answered()
      else breaker.endedUnknown(this.#eras[i], this.call)
    })
  }

  /** Reports that the call asks no part. */
  leave(): void {
    this.#breakers.forEach((breaker, i) => {
      breaker.leave(this.#eras[i], this.call)
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
        new Entry(call, parts, breakers.slice(0, i), eras).leave()
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

  /** Reports an answer of all parts. Returns true if it ends a failure. */
  answered(entry: Entry): boolean {
    entry.answered()
    return this.#endFailures(entry.parts)
  }

  /** Reports a call that failed. Returns true if the parts that answered it end an earlier failure. */
  failed(entry: Entry, outcomes: PartOutcomes): boolean {
    entry.ended(outcomes)
    this.#noteFailure(entry.call, outcomes.failed)
    return this.#endFailures(outcomes.answered)
  }

  /** Reports a call that failed although it asked no part, so that it says nothing about any. */
  left(entry: Entry): void {
    const { openParts } = entry
    this.#noteFailure(entry.call, openParts.length > 0 ? openParts : entry.parts)
    entry.leave()
  }

  /** Ends the failures of parts that have answered. Returns true if there was one. */
  #endFailures(answered: readonly string[]): boolean {
    if (this.#failedCalls.size === 0) return false
    const isAnswered = (call: Call): boolean => this.#partsOf(call).every((part) => answered.includes(part))
    const ended = [...this.#failedCalls].filter(([part, call]) => answered.includes(part) || isAnswered(call))
    for (const [part] of ended) {
      this.#failedCalls.delete(part)
      // The keys of the failed call have moved to another part.
      if (!answered.includes(part)) this.#breakers.forget(part)
    }
    return ended.length > 0
  }

  #noteFailure(call: Call, parts: readonly string[]): void {
    if (this.#failedCalls.size >= MOST_PARTS) this.#failedCalls.clear()
    for (const part of parts) this.#failedCalls.set(part, call)
  }
}

/** Nothing is known about any part. */
export const NO_OUTCOMES: PartOutcomes = { answered: [], failed: [] }

/** Returns the outcomes of a call on `parts`, if the store does not say them. */
export function outcomesBy(reason: FailureReason, parts: readonly string[]): PartOutcomes {
  // The store is reachable if it answers with an error. One bad key must not open the breaker for all others.
  return reason === 'fatal' ? { answered: parts, failed: [] } : { answered: [], failed: parts }
}

export function notAsked(): SluiceError {
  return new SluiceError('ERR_STORE_REFUSED', 'the store has failed, so it is not asked for a while')
}
