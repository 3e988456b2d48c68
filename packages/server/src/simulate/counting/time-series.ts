// Counts by time in a bounded number of buckets. When a log gets longer than they cover, buckets are joined.
// Invariant: at most MOST_BUCKETS buckets, each a whole multiple of its width since the epoch, and no count is lost.

/** Widths of buckets in seconds. Each divides the next. */
const WIDTHS = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_419_200, 29_030_400, 290_304_000]

export const MOST_BUCKETS = 240

export class TimeSeries {
  readonly #columns: number
  /** Counts of each bucket, column by column. */
  #counts: Float64Array
  #width = 0
  /** Number of the first bucket since the epoch. */
  #first = -1

  constructor(columns: number) {
    this.#columns = columns
    this.#counts = new Float64Array(MOST_BUCKETS * columns)
  }

  get widthMs(): number {
    return WIDTHS[this.#width] * 1000
  }

  /** Start of the first bucket. NaN if nothing was counted. */
  get startMs(): number {
    return this.#first < 0 ? Number.NaN : this.#first * this.widthMs
  }

  /** Returns the place of a time for `add`. Precondition: times never step back. */
  placeOf(timeMs: number): number {
    let bucket = Math.floor(timeMs / this.widthMs)
    if (this.#first < 0) this.#first = bucket
    while (bucket - this.#first >= MOST_BUCKETS) {
      this.#widen()
      bucket = Math.floor(timeMs / this.widthMs)
    }
    return (bucket - this.#first) * this.#columns
  }

  add(place: number, column: number): void {
    this.#counts[place + column] += 1
  }

  /** Returns the counts of one column, from the first bucket to the last one that has any count in any column. */
  read(column: number): number[] {
    let last = this.#counts.length - 1
    while (last >= 0 && this.#counts[last] === 0) last -= 1
    const buckets = last < 0 ? 0 : Math.floor(last / this.#columns) + 1
    return Array.from({ length: buckets }, (_, i) => this.#counts[i * this.#columns + column])
  }

  #widen(): void {
    if (this.#width + 1 >= WIDTHS.length) throw new RangeError('the times of the log are too far apart')
    const before = this.widthMs
    const first = this.#first
    this.#width += 1
    this.#first = Math.floor((first * before) / this.widthMs)
    const counts = new Float64Array(this.#counts.length)
    for (let i = 0; i < MOST_BUCKETS; i++) {
      const bucket = Math.floor(((first + i) * before) / this.widthMs) - this.#first
      for (let column = 0; column < this.#columns; column++) {
        counts[bucket * this.#columns + column] += this.#counts[i * this.#columns + column]
      }
    }
    this.#counts = counts
  }
}
