// Callers that wait for their turn: first come, first served for each key, bounded in number and time.
// What must stay true: only the first in a key's line tries, and nobody leaves with a decision that is not allowed.

import type { TimerClock } from './clock.ts'
import type { Decision } from './decision.ts'
import { SluiceError } from './errors.ts'

export interface Waiter {
  readonly key: string
  readonly cost: number
  readonly signal: AbortSignal | undefined
  readonly maxWaitMs: number
}

interface Place extends Waiter {
  readonly sinceMs: number
  readonly resolve: (decision: Decision) => void
  readonly reject: (reason: unknown) => void
  /** Cancels the timer that ends the wait, and the ear on the signal. */
  stopListening: () => void
  left: boolean
}

interface Line {
  readonly key: string
  /** In the order in which they came. */
  readonly places: Set<Place>
  /** Cancels the timer that wakes the first in line. */
  cancelWake: () => void
  /** An attempt is under way and its answer not here yet. */
  trying: boolean
}

const nothing = (): void => {}

export class WaitingLine {
  readonly #lines = new Map<string, Line>()
  readonly #hit: (key: string, cost: number) => Decision | Promise<Decision>
  readonly #clock: TimerClock
  readonly #most: number
  #waiting = 0

  constructor(hit: (key: string, cost: number) => Decision | Promise<Decision>, clock: TimerClock, most: number) {
    this.#hit = hit
    this.#clock = clock
    this.#most = most
  }

  join(waiter: Waiter): Promise<Decision> {
    return new Promise((resolve, reject) => {
      if (waiter.signal?.aborted) return reject(waiter.signal.reason)
      if (this.#waiting >= this.#most) {
        return reject(new SluiceError('ERR_WAIT_FULL', `${this.#most} callers are waiting already; maxWaiting sets how many may`))
      }
      const place: Place = { ...waiter, sinceMs: this.#clock.now(), resolve, reject, stopListening: nothing, left: false }
      this.#waiting += 1
      let line = this.#lines.get(waiter.key)
      if (line === undefined) {
        line = { key: waiter.key, places: new Set(), cancelWake: nothing, trying: false }
        this.#lines.set(waiter.key, line)
      }
      line.places.add(place)
      if (line.places.size === 1) this.#serve(line)
      if (!place.left) this.#listen(line, place)
    })
  }

  /** Lets the first in a key's line try again after `change`, which may have made room. */
  nudge(key: string, change: unknown): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    if (change instanceof Promise) change.then(() => this.#serve(line), nothing)
    else this.#serve(line)
  }

  /** Sends everybody away with `reason`. */
  disperse(reason: unknown): void {
    for (const line of [...this.#lines.values()]) {
      line.cancelWake()
      for (const place of [...line.places]) this.#leave(line, place, () => place.reject(reason))
    }
  }

  #listen(line: Line, place: Place): void {
    const { signal, maxWaitMs, sinceMs } = place
    const goAway = (reason: unknown): void => {
      this.#leave(line, place, () => place.reject(reason))
      this.#serve(line)
    }
    const giveUp = (): void => goAway(signal?.reason)
    let cancelTimer = nothing
    const timeOut = (): void => {
      const leftMs = sinceMs + maxWaitMs - this.#clock.now()
      // A timer may fire a little early; and the last millisecond of a wait counts.
      if (leftMs > 0) cancelTimer = this.#clock.after(leftMs, timeOut)
      else {
        this.#serve(line)
        goAway(tooLong(maxWaitMs))
      }
    }
    if (maxWaitMs !== Number.POSITIVE_INFINITY) cancelTimer = this.#clock.after(maxWaitMs, timeOut)
    signal?.addEventListener('abort', giveUp, { once: true })
    place.stopListening = () => {
      cancelTimer()
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Lets the first in line try, and whoever is first after it. A store that answers at once is asked here and now, without a turn of the event loop. */
  #serve(line: Line): void {
    line.cancelWake()
    line.cancelWake = nothing
    while (!line.trying) {
      const [first] = line.places
      if (first === undefined) return
      line.trying = true
      let answer: Decision | Promise<Decision>
      try {
        answer = this.#hit(first.key, first.cost)
      } catch (error) {
        this.#fail(line, first, error)
        continue
      }
      if (answer instanceof Promise) {
        answer
          .then(
            (decision) => this.#answer(line, first, decision),
            (error) => this.#fail(line, first, error),
          )
          .then((goesOn) => goesOn && this.#serve(line))
      } else if (!this.#answer(line, first, answer)) return
    }
  }

  /** Does with the one who tried what the decision says; → whether the next may try now. */
  #answer(line: Line, first: Place, decision: Decision): boolean {
    line.trying = false
    // Aborted while the store was deciding: if allowed, the units are spent, as when any other caller goes away after a hit.
    if (first.left) return true
    const { maxWaitMs, cost, sinceMs } = first
    const { allowed, retryAfterMs, limit, rule } = decision
    if (allowed) {
      this.#leave(line, first, () => first.resolve(decision))
    } else if (retryAfterMs === Number.POSITIVE_INFINITY) {
      const never = new SluiceError('ERR_WAIT_NEVER', `a cost of ${cost} can never pass rule ${rule}, whose limit is ${limit}`)
      this.#leave(line, first, () => first.reject(never))
    } else if (this.#clock.now() - sinceMs + retryAfterMs > maxWaitMs) {
      this.#leave(line, first, () => first.reject(tooLong(maxWaitMs, retryAfterMs)))
    } else {
      line.cancelWake = this.#clock.after(retryAfterMs, () => this.#serve(line))
      return false
    }
    return true
  }

  #fail(line: Line, first: Place, error: unknown): true {
    line.trying = false
    this.#leave(line, first, () => first.reject(error))
    return true
  }

  #leave(line: Line, place: Place, settle: () => void): void {
    if (place.left) return
    place.left = true
    place.stopListening()
    line.places.delete(place)
    this.#waiting -= 1
    if (line.places.size === 0) {
      line.cancelWake()
      this.#lines.delete(line.key)
    }
    settle()
  }
}

function tooLong(maxWaitMs: number, retryAfterMs?: number): SluiceError {
  const why = retryAfterMs === undefined ? '' : `: the next ${retryAfterMs} ms bring nothing`
  return new SluiceError('ERR_WAIT_TIMEOUT', `no room within maxWaitMs of ${maxWaitMs}${why}`)
}
