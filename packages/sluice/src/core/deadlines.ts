// Deadlines that are all equally far away: calls that are made in one go share a timer, as a timer each was a third of what a
// call cost in this process.
// What must stay true: a deadline depends on the clock's timers, never on what the clock says, as that may step.

import type { TimerClock } from './clock.ts'

interface Group {
  /** What to do at the deadline, for each call that still waits. */
  readonly onDeadline: ((() => void) | undefined)[]
  waiting: number
  stopTimer: () => void
}

export class Deadlines {
  readonly #clock: TimerClock
  readonly #delayMs: number
  /** Whom a call joins that is made now. */
  #latest: Group | undefined

  constructor(clock: TimerClock, delayMs: number) {
    this.#clock = clock
    this.#delayMs = delayMs
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
    const onDeadline: Group['onDeadline'] = []
    const end = (): void => {
      for (const onEnd of onDeadline) onEnd?.()
    }
    const group: Group = {
      onDeadline,
      waiting: 0,
      stopTimer: this.#clock.after(this.#delayMs, () => {
        // One more turn of the event loop: after a pause of the process itself the answer may be here, and wait to be read.
        group.stopTimer = this.#clock.after(0, end)
      }),
    }
    this.#latest = group
    // Those who join are already on their way; whoever comes later has a later deadline.
    Promise.resolve().then(() => {
      if (this.#latest === group) this.#latest = undefined
    })
    return group
  }
}
