// Rows that grow and shrink a few at a time, so that no hit ever waits for a rehash of millions.
// Invariant: while rows move to a table of another size, rows whose home in the old one lies before `frontier` are in the new
// one and all others in the old one, so a look-up reads one table only. The row before `frontier` is empty.

import type { LogArena } from '../../core/rule-log.ts'
import type { ByteBudget } from './byte-budget.ts'
import { bytesOfRows, PINNED, Rows } from './rows.ts'
import type { Victims } from './victims.ts'

const SMALLEST_CAPACITY = 256

/** Up to so many homes, some megabytes, a table is kept sparse: a key found at its home is found sooner. */
const SPARSE_CAPACITY = 2 ** 16

/** How many homes of a table may be taken, so that linear probing stays short. */
function mostTaken(capacity: number): number {
  return capacity * (capacity <= SPARSE_CAPACITY ? 0.35 : 0.7)
}

/** The next capacity: doubled up to `SPARSE_CAPACITY`. Above, where bytes matter more, 1.5 × 2^k comes between two powers of two. */
function grown(capacity: number): number {
  if (capacity < SPARSE_CAPACITY) return capacity * 2
  const isPowerOfTwo = (capacity & (capacity - 1)) === 0
  return isPowerOfTwo ? capacity * 1.5 : (capacity / 3) * 4
}

/** Rows moved for each key that is added: the move ends long before the new table is full. */
const MOVED_PER_CLAIM = 16

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

/** A table that shrinks exists twice, the second time in half the size: so much is set aside for each. */
const RESERVED = 1.5

/** A state's first cell says when it ends; a row of a log holds the log's handle after it. */
const EXPIRES_AT = 0
export const LOG_HANDLE = 1

export interface TableOptions {
  /** Cells of a row. */
  readonly width: number
  readonly maxRows: number
  readonly budget: ByteBudget
  /** Where the logs live whose handles the rows hold, if they hold any. */
  readonly logs?: LogArena | undefined
}

export class Table {
  rows: Rows
  /** Rows looked at so far by searches, sweeps and moves. */
  looked = 0
  readonly width: number
  /** The capacity that has room for all the rows there may be. */
  readonly #largest: number
  readonly #budget: ByteBudget
  readonly #logs: LogArena | undefined
  #retiring: Rows | undefined
  #frontier = 0
  /** Where the last search began, as a share of all rows. */
  #place = 0
  /** Bytes of the budget that this table has taken. */
  #reserved = 0

  constructor({ width, maxRows, budget, logs }: TableOptions) {
    this.width = width
    let largest = SMALLEST_CAPACITY
    while (mostTaken(largest) < maxRows) largest = grown(largest)
    this.#largest = largest
    this.#budget = budget
    this.#logs = logs
    this.rows = new Rows(width, SMALLEST_CAPACITY)
    this.#account()
  }

  get holdsLogs(): boolean {
    return this.#logs !== undefined
  }

  get count(): number {
    return this.rows.count + (this.#retiring?.count ?? 0)
  }

  get bytes(): number {
    return this.rows.bytes + (this.#retiring?.bytes ?? 0)
  }

  get longestRun(): number {
    const { rows } = this
    let longest = 0
    for (let row = 0; row < rows.length; row++) {
      const end = rows.endOfRun(row)
      longest = Math.max(longest, end - row)
      row = end
    }
    return longest
  }

  /** The rows in which a fingerprint is, or would be. */
  rowsFor(hi: number): Rows {
    const retiring = this.#retiring
    return retiring !== undefined && retiring.home(hi) >= this.#frontier ? retiring : this.rows
  }

  /** Gets an empty table ready for so many rows at once, which may then come in the order of their fingerprints. */
  reserve(rows: number): void {
    let { capacity } = this.rows
    while (mostTaken(capacity) < rows && this.#canGrow(capacity)) capacity = grown(capacity)
    this.rows = new Rows(this.width, capacity)
    this.#account()
  }

  /** True if so many more rows fit, now or after growing. */
  hasRoom(claims: number): boolean {
    const { capacity } = this.rows
    return this.#retiring !== undefined || this.count + claims <= mostTaken(capacity) || this.#canGrow(capacity)
  }

  /** Gets ready for `claims` more rows: rows may move. */
  prepare(claims: number, nowMs: number): void {
    const { count, capacity } = this.rows
    if (this.#retiring !== undefined) this.#move(MOVED_PER_CLAIM * claims, nowMs)
    else if (count + claims > mostTaken(capacity) && this.#canGrow(capacity)) this.#resize(grown(capacity))
  }

  /** Takes a row for a fingerprint that has none, and returns its number in `rowsFor(hi)`. */
  claim(lo: number, hi: number, epoch: number): number {
    for (;;) {
      const rows = this.rowsFor(hi)
      const row = ~rows.find(lo, hi)
      if (!rows.isLast(row)) {
        rows.claim(row, lo, hi, epoch)
        return row
      }
      // Nothing has expired at −1: rows that were claimed just now have no end yet.
      if (rows === this.#retiring) this.#finishMove(-1)
      else this.#lengthenTail()
    }
  }

  /** Forgets a row and what hangs on it. */
  drop(rows: Rows, row: number): void {
    this.#logs?.free(rows.cells[rows.at(row) + LOG_HANDLE])
    rows.remove(row)
  }

  /** Calls `visit` with every row that has not expired. */
  each(nowMs: number, visit: (rows: Rows, row: number) => void): void {
    this.#finishMove(nowMs)
    const { rows } = this
    for (let row = 0; row < rows.length; row++) {
      if (rows.isTaken(row) && rows.cells[rows.at(row) + EXPIRES_AT] > nowMs) visit(rows, row)
    }
  }

  /** Drops all that has expired; returns how many. */
  clean(nowMs: number): number {
    const before = this.count
    this.#finishMove(nowMs)
    for (let row = 0; row < this.rows.length; row++) this.#dropExpired(this.rows, row, nowMs)
    return before - this.count
  }

  /** Looks after `share` of the rows, and at most `most`: drops what has expired, goes on with a move, and shrinks what has become far too large. */
  sweep(nowMs: number, epoch: number, share: number, most: number): void {
    if (this.#retiring !== undefined) {
      this.#move(Math.min(most, Math.ceil(this.#retiring.length * share)), nowMs)
    } else {
      const { rows } = this
      const swept = Math.min(most, Math.ceil(rows.length * share))
      for (let left = swept; left > 0; left--) {
        const row = rows.hand
        this.#dropExpired(rows, row, nowMs)
        rows.keepAge(row, epoch)
        rows.hand = (row + 1) % rows.length
      }
      this.looked += swept
    }
    this.#shrink()
  }

  /** Goes on with a move by a few rows, or begins to shrink: for a table whose rows are evicted while others grow. */
  tend(nowMs: number): void {
    if (this.#retiring === undefined) this.#shrink()
    else this.#move(MOVED_PER_CLAIM, nowMs)
  }

  /**
   * Looks at `most` rows from some place on, or at half of them where the victims could not be weaker. Drops those that have
   * expired and returns how many; shows the live ones to `victims`.
   * Each search begins elsewhere, and covers as many homes where rows are crowded as where they are not: so rows stay spread evenly.
   */
  search(most: number, nowMs: number, epoch: number, victims: Victims): number {
    const retiring = this.#retiring
    const rows = retiring !== undefined && retiring.count > this.rows.count ? retiring : this.rows
    const { cells, stride, pressure } = rows
    const before = rows.count
    const start = this.#startOf(rows)
    const end = rows.endOfRun(this.#endOf(rows))
    // Multiples of the golden ratio, modulo 1, are spread evenly, however many there are.
    this.#place = (this.#place + GOLDEN_RATIO) % 1
    let row = start + Math.floor(this.#place * (end - start))
    // Once round at most: a row that has been shown must not move by the drop of another, nor be shown twice.
    const budget = Math.min(most, end - start)
    let looked = 0
    while (looked < budget) {
      const stop = Math.min(end, row + budget - looked, row + Math.ceil(budget / 2))
      looked += stop - row
      for (let at = rows.at(row); row < stop; row++, at += stride) {
        if (cells[at + EXPIRES_AT] > nowMs) {
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
    return before - rows.count
  }

  /** The first row of a part that may be taken. */
  #startOf(rows: Rows): number {
    return rows === this.#retiring ? this.#frontier : 0
  }

  /** From this row on only the run that reaches over it is taken. */
  #endOf(rows: Rows): number {
    const retiring = this.#retiring
    if (retiring === undefined || rows === retiring) return rows.capacity
    return Math.min(rows.capacity, Math.ceil((this.#frontier / retiring.capacity) * rows.capacity))
  }

  /** Drops what has expired at `row`, and whatever expired moves up into its place. */
  #dropExpired(rows: Rows, row: number, nowMs: number): void {
    while (rows.isTaken(row) && isExpired(rows, row, nowMs)) this.drop(rows, row)
  }

  #canGrow(capacity: number): boolean {
    return capacity < this.#largest && this.#budget.hasTableBytes(RESERVED * bytesOfRows(this.width, grown(capacity)))
  }

  /** Begins to halve a table of which less than a quarter of what may be taken is; one that is empty becomes small at once. */
  #shrink(): void {
    const { capacity } = this.rows
    if (capacity === SMALLEST_CAPACITY) return
    const half = Math.max(SMALLEST_CAPACITY, capacity / 2)
    if (this.count === 0) {
      this.rows = new Rows(this.width, SMALLEST_CAPACITY)
      this.#retiring = undefined
      this.#account()
    } else if (this.#retiring === undefined && this.count < mostTaken(half) / 2) {
      this.#resize(half)
    }
  }

  #resize(capacity: number): void {
    this.#retiring = this.rows
    this.#frontier = 0
    this.rows = new Rows(this.width, capacity)
    this.#account()
  }

  #account(): void {
    const { bytes } = this.rows
    const old = this.#retiring?.bytes ?? 0
    const reserved = old > bytes ? RESERVED * old : old + RESERVED * bytes
    this.#budget.tables += reserved - this.#reserved
    this.#reserved = reserved
  }

  /** Moves at least `least` rows, and on to the end of the run. Expired rows without a log are left behind. */
  #move(least: number, nowMs: number): void {
    const retiring = this.#retiring
    if (retiring === undefined) return
    const start = this.#frontier
    while (this.#frontier < retiring.length) {
      const row = this.#frontier++
      if (retiring.isTaken(row)) this.#moveRow(retiring, row, nowMs)
      else if (this.#frontier - start > least) break
    }
    this.looked += this.#frontier - start
    if (this.#frontier < retiring.length) return
    this.#retiring = undefined
    this.#account()
  }

  #moveRow(retiring: Rows, row: number, nowMs: number): void {
    retiring.count -= 1
    // A log cannot be freed here: another would take its place, whose row cannot be found in the middle of a run that moves.
    const isLeft = this.#logs === undefined && isExpired(retiring, row, nowMs)
    while (!isLeft && !this.rows.adopt(retiring, row)) this.#lengthenTail()
  }

  #finishMove(nowMs: number): void {
    this.#move(Number.POSITIVE_INFINITY, nowMs)
  }

  /** Gives a table whose last run reached the very end a longer tail, at once: so unlikely that it may cost a pause. */
  #lengthenTail(): void {
    const { rows } = this
    const { capacity, tail } = rows
    this.rows = new Rows(this.width, capacity, tail * 2)
    for (let row = 0; row < rows.length; row++) if (rows.isTaken(row)) this.rows.adopt(rows, row)
    this.#account()
  }
}

/** A row that is pinned has not expired, whatever its end: it is about to be written. */
function isExpired(rows: Rows, row: number, nowMs: number): boolean {
  return rows.cells[rows.at(row) + EXPIRES_AT] <= nowMs && rows.pressure[row] !== PINNED
}
