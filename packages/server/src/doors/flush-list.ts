// Connections that have something to write. All of them write together, after the input of a turn of the event loop was read.
// A peer that waits for several answers sleeps between them, and waking it takes longer than a decision. So it is woken once.

export interface Flushable {
  /** Writes what is known. */
  flush(): void
}

export class FlushList {
  #waiting: Flushable[] = []
  readonly #schedule: (flush: () => void) => void

  /** `schedule` calls a function after the current callback, or later. */
  constructor(schedule: (flush: () => void) => void) {
    this.#schedule = schedule
  }

  add(flushable: Flushable): void {
    if (this.#waiting.length === 0) this.#schedule(this.#flush)
    this.#waiting.push(flushable)
  }

  readonly #flush = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const flushable of waiting) flushable.flush()
  }
}
