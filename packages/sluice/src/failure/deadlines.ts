// Deadlines of calls that all have the same delay. The calls of one turn share a timer, because a timer for each call took a third
// of a call's time in this process.
// Invariants: deadlines use the timers of the clock, not its time, because the time may step. If the process is blocked, that
// counts as one slice at most, because the store did not cause it.

import type { TimerClock } from '../core/clock.ts'

interface Group {
  /** Callbacks of the calls that still wait. */
  readonly onDeadline: ((() => void) | undefined)[]
  waiting: number
  stopTimer: () => void
}

/** A deadline is a chain of timers, one for each slice of the delay. */
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
   * Waits for the given slice and all later ones. One more timer of 0 ms follows, so that answers which have arrived are read
   * before the deadline passes.
   */
  #wait(group: Group, slice: number): void {
    const isOver = slice > this.#slicesMs.length
    if (isOver) for (const onEnd of group.onDeadline) onEnd?.()
    else group.stopTimer = this.#clock.after(this.#slicesMs[slice] ?? 0, () => this.#wait(group, slice + 1))
  }
}
