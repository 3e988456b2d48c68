// Calls that the store refused and that are tried again, in the order in which they were made.
// Invariant: while a call on a key waits to be tried again, no later call on that key is asked: it joins the line behind it.

import type { TimerClock } from '../core/clock.ts'
import type { SluiceError } from '../core/errors.ts'

/** Asks again. Hears why the line has waited. */
type TryAgain = (refusal: SluiceError) => void

interface Line {
  /** In the order in which the calls were made. */
  readonly calls: Set<TryAgain>
  /** Why the first of them was refused. */
  readonly refusal: SluiceError
  stopTimer: () => void
}

/** Of each store, the lines. */
const SHARED = new WeakMap<object, RetryLines>()

/** Limiters over one store share their lines, as they share its keys. */
export function sharedRetryLines(store: { readonly clock: TimerClock }): RetryLines {
  const shared = SHARED.get(store) ?? new RetryLines(store.clock)
  SHARED.set(store, shared)
  return shared
}

export class RetryLines {
  readonly #clock: TimerClock
  /** By key. A line holds only calls that are under way, and is gone when they are. */
  readonly #lines = new Map<string, Line>()

  constructor(clock: TimerClock) {
    this.#clock = clock
  }

  /** Why a call on `key` has to wait now, if it has to: calls that were made before it do. */
  refusalOf(key: string): SluiceError | undefined {
    // Every call asks, and there is hardly ever a line.
    return this.#lines.size === 0 ? undefined : this.#lines.get(key)?.refusal
  }

  /** Joins the line of a key. The call that opens it says how long it waits, and why. → leaves the line. */
  join(key: string, delayMs: number, refusal: SluiceError, tryAgain: TryAgain): () => void {
    const line = this.#lines.get(key) ?? this.#open(key, delayMs, refusal)
    line.calls.add(tryAgain)
    return () => {
      line.calls.delete(tryAgain)
      if (line.calls.size > 0 || this.#lines.get(key) !== line) return
      line.stopTimer()
      this.#lines.delete(key)
    }
  }

  #open(key: string, delayMs: number, refusal: SluiceError): Line {
    const line: Line = { calls: new Set(), refusal, stopTimer: () => {} }
    line.stopTimer = this.#clock.after(delayMs, () => {
      this.#lines.delete(key)
      // All in one turn: a store that keeps the order of calls gets them in order, and so do later calls that are asked at once.
      for (const tryAgain of line.calls) tryAgain(refusal)
    })
    this.#lines.set(key, line)
    return line
  }
}
