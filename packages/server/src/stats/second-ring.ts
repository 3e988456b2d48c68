// Counts for each second of the last hour, in one typed array.
// What must stay true: a second that has left the hour is never read again, and a clock that steps back writes into the latest second.

/** How far back the rings look. */
export const RING_SECONDS = 3600

/** The columns of a ring. A hit that a policy in shadow mode would have denied is counted as shadow-denied, not as allowed. */
export const COLUMNS = ['allowed', 'denied', 'shadow_denied', 'errors'] as const
export type Column = (typeof COLUMNS)[number]

const WIDTH = COLUMNS.length

export class SecondRing {
  readonly #counts = new Uint32Array(RING_SECONDS * WIDTH)
  #latest = 0

  /** The last second that anything was counted in, in seconds since the epoch; 0 if there is none. */
  get latest(): number {
    return this.#latest
  }

  /** Counts one in `column`, an index into COLUMNS. */
  add(second: number, column: number): void {
    if (second > this.#latest) this.#advance(second)
    this.#counts[(this.#latest % RING_SECONDS) * WIDTH + column] += 1
  }

  /** The counts of `seconds` seconds, oldest first, up to and including `last`. */
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

  /** Forgets what the seconds up to `second` take the place of. */
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
