// Counts for each step of the latest time, in one typed array.
// Invariant: a step that is older than the ring is long is never read, and after a backward step of the clock the latest step is used.

/** The columns of a ring. A check that is denied in shadow mode is counted as shadow_denied, not as allowed. */
export const COLUMNS = ['allowed', 'denied', 'shadow_denied', 'errors'] as const
export type Column = (typeof COLUMNS)[number]

const WIDTH = COLUMNS.length

export class CountRing {
  readonly #length: number
  readonly #counts: Uint32Array
  #latest = 0

  /** `length` is the number of steps that are kept. */
  constructor(length: number) {
    this.#length = length
    this.#counts = new Uint32Array(length * WIDTH)
  }

  /** The last step with a count; 0 if there is none. */
  get latest(): number {
    return this.#latest
  }

  /** Adds `times` to `column`, an index into COLUMNS. */
  add(step: number, column: number, times = 1): void {
    if (step > this.#latest) this.#advance(step)
    this.#counts[(this.#latest % this.#length) * WIDTH + column] += times
  }

  /** Returns the counts of `steps` steps, oldest first, up to and including `last`. */
  read(column: Column, last: number, steps: number): number[] {
    const at = COLUMNS.indexOf(column)
    const counts = new Array<number>(steps)
    for (let i = 0; i < steps; i++) {
      const step = last - steps + 1 + i
      const isHeld = step <= this.#latest && step > this.#latest - this.#length
      counts[i] = isHeld ? this.#counts[(step % this.#length) * WIDTH + at] : 0
    }
    return counts
  }

  /** Clears the steps between the latest one and `step`. */
  #advance(step: number): void {
    const gap = step - this.#latest
    if (gap >= this.#length) this.#counts.fill(0)
    else {
      for (let i = 0; i < gap; i++) {
        const slot = ((step - i) % this.#length) * WIDTH
        this.#counts.fill(0, slot, slot + WIDTH)
      }
    }
    this.#latest = step
  }
}
