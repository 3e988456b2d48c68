// Calls that the store refused, in the order in which they were made, until they are tried again.
// Invariant: while a call on a key waits to be tried again, no later call on that key is asked: it waits behind the first.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import type { SluiceError } from '../core/errors.ts'

/** Asks again. Gets the reason why the line has waited. */
type TryAgain = (refusal: SluiceError) => void

interface Line {
  readonly keys: Set<string>
  /** In the order in which the calls were made. */
  readonly calls: Set<TryAgain>
  /** Why the first of them was refused. */
  readonly refusal: SluiceError
  stopTimer: () => void
}

export class RetryLines {
  readonly #clock: TimerClock
  /** By key. A line holds only calls that are under way, and is gone when they are. */
  readonly #lines = new Map<string, Line>()

  constructor(clock: TimerClock) {
    this.#clock = clock
  }

  /** The reason why a call has to wait now: earlier calls on one of its keys do. Undefined if there is none. */
  refusalOf({ charges }: Call): SluiceError | undefined {
    // Every call asks, and there is hardly ever a line.
    if (this.#lines.size === 0) return undefined
    const waiting = charges.find(({ key }) => this.#lines.has(key))
    return waiting && this.#lines.get(waiting.key)?.refusal
  }

  /** Joins the line of the call's keys. The call that opens it says how long it waits, and why. Returns a function that leaves it. */
  join(call: Call, delayMs: number, refusal: SluiceError, tryAgain: TryAgain): () => void {
    const line = this.#lineOf(call) ?? this.#open(delayMs, refusal)
    for (const { key } of call.charges) {
      line.keys.add(key)
      this.#lines.set(key, line)
    }
    line.calls.add(tryAgain)
    // A line may have become part of another since.
    return () => {
      for (const { key } of call.charges) this.#lines.get(key)?.calls.delete(tryAgain)
      for (const { key } of call.charges) {
        const left = this.#lines.get(key)
        if (left?.calls.size === 0) this.#close(left)
      }
    }
  }

  /** The line of a call's keys. If several keys have lines, they become one. */
  #lineOf({ charges }: Call): Line | undefined {
    const lines = new Set<Line>()
    for (const { key } of charges) {
      const line = this.#lines.get(key)
      if (line !== undefined) lines.add(line)
    }
    const [first, ...others] = lines
    for (const other of others) {
      other.stopTimer()
      for (const tryAgain of other.calls) first.calls.add(tryAgain)
      for (const key of other.keys) {
        first.keys.add(key)
        this.#lines.set(key, first)
      }
    }
    return first
  }

  #open(delayMs: number, refusal: SluiceError): Line {
    const line: Line = { keys: new Set(), calls: new Set(), refusal, stopTimer: () => {} }
    line.stopTimer = this.#clock.after(delayMs, () => {
      this.#close(line)
      // All in one turn: a store that keeps the order of calls gets them in order, and so do later calls that are asked at once.
      for (const tryAgain of line.calls) tryAgain(refusal)
    })
    return line
  }

  #close(line: Line): void {
    line.stopTimer()
    for (const key of line.keys) this.#lines.delete(key)
  }
}
