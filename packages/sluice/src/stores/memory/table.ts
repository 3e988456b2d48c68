// A table of rows that grows and shrinks a few rows at a time, so that no hit waits for a rehash of millions of rows.
// Invariant: during a resize, a row is in the new rows if its home in the old rows is before `frontier`. All other rows are in the
// old rows. So a lookup reads only one of the two. The row before `frontier` is empty.

import { LOG_HANDLE, type LogArena } from '../../core/rule-log.ts'
import type { ByteBudget } from './byte-budget.ts'
import { Epochs } from './epochs.ts'
import type { StoreHolds } from './held-rows.ts'
import { bytesOfRows, PINNED, Rows } from './rows.ts'
import type { Victims } from './victims.ts'

const SMALLEST_CAPACITY = 256

/** The largest capacity (some megabytes) at which a table is kept sparse. In a sparse table most keys are at their home. */
const SPARSE_CAPACITY = 2 ** 16

/** The largest share of homes that may be taken, so that linear probing stays short; and the largest share in a sparse table. */
const DENSE = 0.7
const SPARSE = 0.35

/** Returns the number of rows at which a table grows, if it can. */
function mostTaken(capacity: number): number {
  return capacity * (capacity <= SPARSE_CAPACITY ? SPARSE : DENSE)
}

/**
 * Returns the next capacity. Up to `SPARSE_CAPACITY` it doubles. Above, 1.5 × 2^k comes between two powers of two, to save bytes.
 */
function grown(capacity: number): number {
  if (capacity < SPARSE_CAPACITY) return capacity * 2
  const isPowerOfTwo = (capacity & (capacity - 1)) === 0
  return isPowerOfTwo ? capacity * 1.5 : (capacity / 3) * 4
}

/** Number of rows that each new key moves. With so many, a resize ends long before the new rows are full. */
const MOVED_PER_CLAIM = 16

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

/** Before a table is halved, so many samples of so many rows are read. A sample with more rows than this that are taken is crowded. */
const SAMPLES = 64
const SAMPLED = 64
const MOST_SAMPLED = 25

/** Share of a table's bytes that is reserved. A table that shrinks also needs rows of half its size. */
const RESERVED = 1.5

/** The store of a table. */
export interface TableStore {
  /** The most rows. */
  readonly maxKeys: number
  readonly budget: ByteBudget
  /** Undefined as long as the store keeps no holds. */
  readonly holds?: StoreHolds | undefined
}

export class Table {
  rows: Rows
  /** Number of rows read so far by searches, sweeps and resizes, without the samples before a table is halved. */
  looked = 0
  readonly width: number
  /** The arena of the logs, if the rows hold handles of logs. */
  readonly logs: LogArena | undefined
  readonly epochs = new Epochs()
  readonly #store: TableStore
  #retiring: Rows | undefined
  #frontier = 0
  /** Start of the last search, as a share of all rows. */
  #searchStart = 0
  /** Bytes of the budget that are reserved for this table. */
  #reserved = 0

  /** Makes a table whose rows have `width` cells. */
  constructor(store: TableStore, width: number, logs?: LogArena) {
    this.width = width
    this.logs = logs
    this.#store = store
    this.rows = new Rows(width, SMALLEST_CAPACITY)
    this.#account()
  }

  get count(): number {
    return this.rows.count + (this.#retiring?.count ?? 0)
  }

  get bytes(): number {
    return this.rows.bytes + (this.#retiring?.bytes ?? 0)
  }

  /** Returns the rows in which a fingerprint is, or would be. */
  rowsFor(hi: number): Rows {
    const retiring = this.#retiring
    return retiring !== undefined && retiring.home(hi) >= this.#frontier ? retiring : this.rows
  }

  /**
   * Prepares an empty table for `rows` rows, or for as many as it may have. Returns how many may then be claimed in the order of their
   * fingerprints.
   */
  reserve(rows: number): number {
    let { capacity } = this.rows
    while (mostTaken(capacity) < rows && this.#canGrow(capacity)) capacity = grown(capacity)
    this.#renew(capacity)
    return Math.floor(capacity * DENSE)
  }

  /** True if `claims` more rows fit, now or after growing. A sparse table that cannot grow becomes dense. */
  hasSpace(claims: number): boolean {
    const { capacity } = this.rows
    return this.#retiring !== undefined || this.count + claims <= capacity * DENSE || this.#canGrow(capacity)
  }

  /** Prepares for `claims` more rows. Rows may move. */
  prepare(claims: number, nowMs: number): void {
    const { count, capacity } = this.rows
    if (this.#retiring !== undefined) this.#move(MOVED_PER_CLAIM * claims, nowMs)
    else if (count + claims > mostTaken(capacity) && this.#canGrow(capacity)) this.#renew(grown(capacity), this.rows)
  }

  /** Claims a row for a fingerprint that has none. Returns its index in `rowsFor(hi)`. */
  claim(lo: number, hi: number, epoch: number): number {
    for (;;) {
      const rows = this.rowsFor(hi)
      const row = ~rows.find(lo, hi)
      if (!rows.isLast(row)) {
        rows.claim(row, lo, hi, epoch)
        return row
      }
      // At the time −1 no row has expired, not even rows that were just claimed and have no end yet.
      if (rows === this.#retiring) this.finishMove(-1)
      else this.#lengthenTail()
    }
  }

  /** Drops a row, and its log if it has one. */
  drop(rows: Rows, row: number): void {
    this.#store.holds?.drop(rows, row)
    this.logs?.free(rows.cells[rows.at(row) + LOG_HANDLE])
    rows.remove(row)
  }

  /**
   * Maintains `share` of the rows, at most `most`: drops expired rows, continues a resize, and shrinks a table that is far too
   * large.
   */
  sweep(nowMs: number, share: number, most: number): void {
    if (this.#retiring !== undefined) {
      this.#move(Math.min(most, Math.ceil(this.#retiring.length * share)), nowMs)
    } else {
      const { rows } = this
      const swept = Math.min(most, Math.ceil(rows.length * share))
      for (let left = swept; left > 0; left--) {
        const row = rows.hand
        this.#dropExpired(rows, row, nowMs)
        rows.keepAge(row, this.epochs.present)
        rows.hand = (row + 1) % rows.length
      }
      this.looked += swept
    }
    this.#shrink()
  }

  /** Continues a resize by a few rows, or begins to shrink. For a table whose rows are evicted while other tables grow. */
  tend(nowMs: number): void {
    if (this.#retiring === undefined) this.#shrink()
    else this.#move(MOVED_PER_CLAIM, nowMs)
  }

  /**
   * Reads `most` rows, or half of them if enough weak victims are found by then. Drops expired rows and returns their number. Passes
   * live rows to `victims`.
   * Each search begins at another row. It covers the same number of homes in crowded and in sparse regions, so rows stay spread
   * evenly.
   */
  search(most: number, nowMs: number, epoch: number, victims: Victims): number {
    const retiring = this.#retiring
    const rows = retiring !== undefined && retiring.count > this.rows.count ? retiring : this.rows
    const { cells, stride, pressure } = rows
    const before = rows.count
    const start = rows === retiring ? this.#frontier : 0
    // While other rows retire, only a share of the homes is in use. After them, only a run that begins before takes rows.
    const share = retiring === undefined || rows === retiring ? 1 : Math.min(1, this.#frontier / retiring.capacity)
    const end = rows.endOfRun(Math.ceil(share * rows.capacity))
    // Multiples of the golden ratio, modulo 1, are spread evenly for any number of them.
    this.#searchStart = (this.#searchStart + GOLDEN_RATIO) % 1
    let row = start + Math.floor(this.#searchStart * (end - start))
    // The search goes round at most once. A row must not be passed twice, and must not be moved after it was passed.
    const budget = Math.min(most, end - start)
    let looked = 0
    while (looked < budget) {
      const stop = Math.min(end, row + budget - looked, row + Math.ceil(budget / 2))
      looked += stop - row
      for (let at = rows.at(row); row < stop; row++, at += stride) {
        const endsAt = cells[at]
        if (endsAt > nowMs || (endsAt < 0 && !this.isExpired(rows, row, nowMs))) {
          victims.live += 1
          if (pressure[row] <= victims.mostPressure) victims.show(this, rows, row, epoch)
        } else {
          this.#dropExpired(rows, row, nowMs)
        }
      }
      if (row === end) row = start
      if (victims.isEnough) break
    }
    this.looked += looked
    victims.looked += looked
    return before - rows.count
  }

  /** Drops the row at `row` if it has expired, and expired rows that move up to its place. */
  #dropExpired(rows: Rows, row: number, nowMs: number): void {
    while (rows.isTaken(row) && this.isExpired(rows, row, nowMs)) this.drop(rows, row)
  }

  #canGrow(capacity: number): boolean {
    const { maxKeys, budget } = this.#store
    return mostTaken(capacity) < maxKeys && budget.hasTableBytes(RESERVED * bytesOfRows(this.width, grown(capacity)))
  }

  /** Begins to halve a table that is less than a quarter full. An empty table becomes small at once. */
  #shrink(): void {
    const { capacity } = this.rows
    if (capacity === SMALLEST_CAPACITY) return
    const half = Math.max(SMALLEST_CAPACITY, capacity / 2)
    if (this.count === 0) this.#renew(SMALLEST_CAPACITY)
    else if (this.#retiring === undefined && this.count < mostTaken(half) / 2 && this.#isEven()) this.#renew(half, this.rows)
  }

  /**
   * True if no sample of the rows is crowded. In half of the homes, crowded rows would need runs of thousands. Rows are crowded if the clock
   * was ahead while the others were swept. Each sweep covers more rows than lie between two samples, so no crowd is missed.
   */
  #isEven(): boolean {
    const { rows } = this
    // Every capacity is a multiple of SAMPLES.
    for (let start = 0; start < rows.capacity; start += rows.capacity / SAMPLES) {
      let taken = 0
      for (let row = start; row < start + SAMPLED; row++) if (rows.isTaken(row)) taken++
      if (taken > MOST_SAMPLED) return false
    }
    return true
  }

  /** Begins with empty rows. The rows of `retiring` will move there. */
  #renew(capacity: number, retiring?: Rows): void {
    this.#retiring = retiring
    this.#frontier = 0
    this.rows = new Rows(this.width, capacity)
    this.#account()
  }

  #account(): void {
    const { bytes } = this.rows
    const old = this.#retiring?.bytes ?? 0
    const reserved = old > bytes ? RESERVED * old : old + RESERVED * bytes
    this.#store.budget.tables += reserved - this.#reserved
    this.#reserved = reserved
  }

  /** Moves at least `least` rows, up to the end of a run. Ended rows are dropped. */
  #move(least: number, nowMs: number): void {
    const retiring = this.#retiring
    if (retiring === undefined) return
    const start = this.#frontier
    while (this.#frontier < retiring.length && this.#frontier - start <= least) {
      const from = this.#frontier
      const end = retiring.endOfRun(from)
      // Before a row of the run is moved, because a log that is freed moves another one, whose row must be found.
      for (let row = from; row < end; row++) this.#dropExpired(retiring, row, nowMs)
      for (let row = from; row < end; row++) if (retiring.isTaken(row)) this.#moveRow(retiring, row)
      this.#frontier = end + 1
    }
    this.looked += this.#frontier - start
    if (this.#frontier < retiring.length) return
    this.#retiring = undefined
    this.#account()
  }

  #moveRow(retiring: Rows, row: number): void {
    retiring.count -= 1
    while (!this.rows.adopt(retiring, row)) this.#lengthenTail()
  }

  /** Moves all rows that are left of a resize, so that `rows` has every row. */
  finishMove(nowMs: number): void {
    this.#move(Number.POSITIVE_INFINITY, nowMs)
  }

  /** Makes the tail longer, at once, if the last run has reached the end. This is so unlikely that a pause is acceptable. */
  #lengthenTail(): void {
    const { rows } = this
    const { capacity, length } = rows
    this.rows = new Rows(this.width, capacity, 2 * (length - capacity))
    for (let row = 0; row < rows.length; row++) if (rows.isTaken(row)) this.rows.adopt(rows, row)
    this.#account()
  }

  /** True if a row has expired. Its first cell is the time when the state ends. A pinned row has not: it is about to be written. */
  isExpired(rows: Rows, row: number, nowMs: number): boolean {
    if (rows.cells[rows.at(row)] > nowMs || rows.pressure[row] === PINNED) return false
    return this.#store.holds?.areOver(rows, row, nowMs) ?? true
  }
}
