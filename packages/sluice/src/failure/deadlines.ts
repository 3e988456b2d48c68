// Deadlines that are all equally far away. Calls that are made in one turn share a timer: a timer each was a third of the cost of
// a call in this process.
// Invariants: a deadline depends on the clock's timers, never on its time, which may step. Time in which this process could not
// run counts for one slice at most, however long it was: the store is not to blame for it.

import type { TimerClock } from '../core/clock.ts'

interface Group {
  /** Callbacks of the calls that still wait. */
  readonly onDeadline: ((() => void) | undefined)[]
  waiting: number
  stopTimer: () => void
}

/** A deadline is reached in so many steps, and the timer of each is started when the one before has fired. */
const SLICES = 4

export class Deadlines {
  readonly #clock: TimerClock
  /** The length of each slice. The last one is shorter, where the delay does not divide. */
  readonly #slicesMs: readonly number[]
  /** The group of calls that are made now. */
  #latest: Group | undefined

  constructor(clock: TimerClock, delayMs: number) {
    this.#clock = clock
    const sliceMs = Math.ceil(delayMs / SLICES)
    const slices = Math.ceil(delayMs / sliceMs)
    this.#slicesMs = Array.from({ length: slices }, (_, i) => Math.min(sliceMs, delayMs - i * sliceMs))
  }

  /** Calls `onDeadline` after the delay. Returns a function that cancels it. */
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
    // Calls of a later turn have a later deadline.
    Promise.resolve().then(() => {
      if (this.#latest === group) this.#latest = undefined
    })
    return group
  }

  /** Waits for the slices from the given one on, and then one more turn of the event loop, as an answer may be there to be read. */
  #wait(group: Group, slice: number): void {
    const isOver = slice > this.#slicesMs.length
    if (isOver) for (const onEnd of group.onDeadline) onEnd?.()
    else group.stopTimer = this.#clock.after(this.#slicesMs[slice] ?? 0, () => this.#wait(group, slice + 1))
  }
}
