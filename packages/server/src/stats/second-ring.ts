// Counts for each second of the last hour, in one typed array.
// Invariant: a second that is older than an hour is never read, and after a backward step of the clock the latest second is used.

/** Length of a ring in seconds. */
export const RING_SECONDS = 3600

/** The columns of a ring. A check that is denied in shadow mode is counted as shadow_denied, not as allowed. */
export const COLUMNS = ['allowed', 'denied', 'shadow_denied', 'errors'] as const
export type Column = (typeof COLUMNS)[number]

const WIDTH = COLUMNS.length

export class SecondRing {
  readonly #counts = new Uint32Array(RING_SECONDS * WIDTH)
  #latest = 0

  /** The last second with a count, in seconds since the epoch; 0 if there is none. */
  get latest(): number {
    return this.#latest
  }

  /** Increments `column`, an index into COLUMNS. */
  add(second: number, column: number): void {
    if (second > this.#latest) this.#advance(second)
    this.#counts[(this.#latest % RING_SECONDS) * WIDTH + column] += 1
  }

  /** Returns the counts of `seconds` seconds, oldest first, up to and including `last`. */
  read(column: Column, last: number, seconds: number): number[] {
    const at = COLUMNS.indexOf(column)
    const counts = new Array<number>(seconds)
    for (let i = 0; i < seconds; i++) {
      const second = last - seconds + 1 + i
      const isHeld = second <= this.#latest && second > this.#latest - RING_SECONDS
      counts[i] = isHeld ? this.#counts[(second % RING_SECONDS) * WIDTH + at] : 0
    }
    return counts
  }

  /** Clears the seconds between the latest one and `second`. */
  #advance(second: number): void {
    const gap = second - this.#latest
    if (gap >= RING_SECONDS) this.#counts.fill(0)
    else {
      for (let i = 0; i < gap; i++) {
        const slot = ((second - i) % RING_SECONDS) * WIDTH
        this.#counts.fill(0, slot, slot + WIDTH)
      }
    }
    this.#latest = second
  }
}
