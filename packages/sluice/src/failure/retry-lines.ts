// Retry lines: refused calls wait here for their retry, in the order in which they were made.
// Invariant: while a call on a key waits in a line, later calls on this key wait behind it.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import type { SluiceError } from '../core/errors.ts'

/** Asks the store again. `refusal` is the error by which the first call of the line was refused. */
type TryAgain = (refusal: SluiceError) => void

interface Line {
  readonly keys: Set<string>
  /** With the number of each call. A call may join after later ones, which did not ask the store because of the line. */
  readonly calls: Map<TryAgain, number>
  /** The error by which the first call was refused. */
  readonly refusal: SluiceError
  readonly delayMs: number
  dueMs: number
  stopTimer: () => void
}

/**
 * A line that is late by more than this has lost its timer: on Cloudflare Workers, timers end with the request that started them.
 * The next call that joins starts a new one.
 */
const MOST_LATE_MS = 1000

export class RetryLines {
  readonly #clock: TimerClock
  /** Lines by key. One line may have several keys. A line is removed when its last call has left. */
  readonly #lines = new Map<string, Line>()
  #made = 0

  constructor(clock: TimerClock) {
    this.#clock = clock
  }

  /** Returns the number of a call that is made now. Calls are tried again in the order of their numbers. */
  number(): number {
    this.#made += 1
    return this.#made
  }

  /** Returns the refusal of the line that the call must join; undefined if there is no line of its keys. */
  refusalOf({ charges }: Call): SluiceError | undefined {
    // The usual case: no call is waiting.
    if (this.#lines.size === 0) return undefined
    const waiting = charges.find(({ key }) => this.#lines.has(key))
    return waiting && this.#lines.get(waiting.key)?.refusal
  }

  /**
   * Joins the line of the call's keys. The call that opens a line sets its delay and refusal. Returns a function that leaves it.
   */
  join(call: Call, delayMs: number, refusal: SluiceError, tryAgain: TryAgain, nth = this.number()): () => void {
    const line = this.#lineOf(call) ?? this.#open(delayMs, refusal)
    if (this.#clock.now() - line.dueMs > MOST_LATE_MS) this.#startTimer(line)
    for (const { key } of call.charges) {
      line.keys.add(key)
      this.#lines.set(key, line)
    }
    line.calls.set(tryAgain, nth)
    // The line may have been merged into another one since.
    return () => {
      for (const { key } of call.charges) this.#lines.get(key)?.calls.delete(tryAgain)
      for (const { key } of call.charges) {
        const left = this.#lines.get(key)
        if (left?.calls.size === 0) this.#close(left)
      }
    }
  }

  /** Returns the line of a call's keys. Merges the lines if there are several. */
  #lineOf({ charges }: Call): Line | undefined {
    const lines = new Set<Line>()
    for (const { key } of charges) {
      const line = this.#lines.get(key)
      if (line !== undefined) lines.add(line)
    }
    const [first, ...others] = lines
    for (const other of others) {
      other.stopTimer()
      for (const [tryAgain, nth] of other.calls) first.calls.set(tryAgain, nth)
      for (const key of other.keys) {
        first.keys.add(key)
        this.#lines.set(key, first)
      }
    }
    return first
  }

  #open(delayMs: number, refusal: SluiceError): Line {
    const line: Line = { keys: new Set(), calls: new Map(), refusal, delayMs, dueMs: 0, stopTimer: () => {} }
    this.#startTimer(line)
    return line
  }

  #startTimer(line: Line): void {
    line.stopTimer()
    line.dueMs = this.#clock.now() + line.delayMs
    line.stopTimer = this.#clock.after(line.delayMs, () => {
      this.#close(line)
      // All calls are asked in one turn, so that a store that keeps the order of calls gets them before later calls.
      for (const [tryAgain] of [...line.calls].sort(([, a], [, b]) => a - b)) tryAgain(line.refusal)
    })
  }

  #close(line: Line): void {
    line.stopTimer()
    for (const key of line.keys) this.#lines.delete(key)
  }
}
