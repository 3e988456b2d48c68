// Deadlines with the same delay. Calls of one turn share a timer, because one timer for each call was a third of a call's cost in
// this process.
// Invariants: a deadline depends on the clock's timers, never on its time, which may step. If this process could not run for a
// while, that time counts as one slice at most, because the store did not cause it.

import type { TimerClock } from '../core/clock.ts'

interface Group {
  /** Callbacks of the calls that still wait. */
  readonly onDeadline: ((() => void) | undefined)[]
  waiting: number
  stopTimer: () => void
}

/** Number of slices of a deadline. The timer of each slice starts when the timer of the one before has fired. */
const SLICES = 4

export class Deadlines {
  readonly #clock: TimerClock
  /** The length of each slice. The last one may be shorter. */
  readonly #slicesMs: readonly number[]
  /** The group of calls of the present turn. */
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
    const index = group.onDeadline.push(onDeadline) - 1
    group.waiting += 1
    return () => {
      if (group.onDeadline[index] === undefined) return
      group.onDeadline[index] = undefined
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
    // Calls of a later turn have a later deadline, in a new group.
    Promise.resolve().then(() => {
      if (this.#latest === group) this.#latest = undefined
    })
    return group
  }

  /**
   * Waits for the slices from the given one on, and then for one more turn, because an answer may have arrived and not been read.
   */
  #wait(group: Group, slice: number): void {
    const isOver = slice > this.#slicesMs.length
    if (isOver) for (const onEnd of group.onDeadline) onEnd?.()
    else group.stopTimer = this.#clock.after(this.#slicesMs[slice] ?? 0, () => this.#wait(group, slice + 1))
  }
}
