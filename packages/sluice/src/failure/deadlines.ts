// Deadlines that are all equally far away: calls that are made in one go share a timer, as a timer each was a third of what a
// call cost in this process.
// Invariants: a deadline depends on the clock's timers, never on what the clock says, as that may step; and time in which this
// process could not run counts for one slice at most, however long it was, as the store is not to blame for it.

import type { TimerClock } from '../core/clock.ts'

interface Group {
  /** What to do at the deadline, for each call that still waits. */
  readonly onDeadline: ((() => void) | undefined)[]
  waiting: number
  stopTimer: () => void
}

/** A deadline is reached in so many steps, and the timer of each is started when the one before has fired. */
const SLICES = 4

/** Of each store, the deadlines of each length. */
const SHARED = new WeakMap<object, Map<number, Deadlines>>()

/** Limiters over one store share their deadlines: a timer for each of thousands of limiters would take the time that it measures. */
export function sharedDeadlines(store: { readonly clock: TimerClock }, delayMs: number): Deadlines {
  const ofStore = SHARED.get(store) ?? new Map<number, Deadlines>()
  SHARED.set(store, ofStore)
  const shared = ofStore.get(delayMs) ?? new Deadlines(store.clock, delayMs)
  ofStore.set(delayMs, shared)
  return shared
}

export class Deadlines {
  readonly #clock: TimerClock
  /** The length of each slice. The last one is shorter, where the delay does not divide. */
  readonly #slicesMs: readonly number[]
  /** Whom a call joins that is made now. */
  #latest: Group | undefined

  constructor(clock: TimerClock, delayMs: number) {
    this.#clock = clock
    const sliceMs = Math.ceil(delayMs / SLICES)
    const slices = Math.ceil(delayMs / sliceMs)
    this.#slicesMs = Array.from({ length: slices }, (_, i) => Math.min(sliceMs, delayMs - i * sliceMs))
  }

  /** Calls `onDeadline` after the delay; → what prevents that. */
  start(onDeadline: () => void): () => void {
    const group = this.#latest ?? this.#open()
    const place = group.onDeadline.push(onDeadline) - 1
    group.waiting += 1
    return () => {
      if (group.onDeadline[place] === undefined) return
      group.onDeadline[place] = undefined
      group.waiting -= 1
      if (group.waiting > 0) return
      group.stopTimer()
      if (this.#latest === group) this.#latest = undefined
    }
  }

  #open(): Group {
    const group: Group = { onDeadline: [], waiting: 0, stopTimer: () => {} }
    this.#wait(group, 0)
    this.#latest = group
    // Those who join are already on their way; whoever comes later has a later deadline.
    Promise.resolve().then(() => {
      if (this.#latest === group) this.#latest = undefined
    })
    return group
  }

  /** Waits for the slices from the given one on, and then one more turn of the event loop: an answer may wait to be read. */
  #wait(group: Group, slice: number): void {
    const isOver = slice > this.#slicesMs.length
    if (isOver) for (const onEnd of group.onDeadline) onEnd?.()
    else group.stopTimer = this.#clock.after(this.#slicesMs[slice] ?? 0, () => this.#wait(group, slice + 1))
  }
}
