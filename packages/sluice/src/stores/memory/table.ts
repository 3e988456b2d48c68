// Rows that grow and shrink a few at a time, so that no hit ever waits for a rehash of millions; and, at the bound, which to give up.
// What must stay true: while rows move to a table of another size, those whose home in the old one lies before `frontier`
// are in the new one and all others in the old one, so a look-up reads one table only. The row before `frontier` is empty.

import type { LogArena } from './log-arena.ts'
import { DENIED, Rows } from './rows.ts'

const SMALLEST_CAPACITY = 256

/** Up to so many homes, some megabytes, a table is kept sparse: a key found at its home is found sooner. */
const SPARSE_CAPACITY = 2 ** 16

/** How many homes of a table may be taken, so that linear probing stays short. */
function mostTaken(capacity: number): number {
  return capacity * (capacity <= SPARSE_CAPACITY ? 0.35 : 0.7)
}

/** Rows moved for each key that is added: the move ends long before the new table is full. */
const MOVED_PER_CLAIM = 16

/** Keys looked at, for each one that is added at the bound, to find one that can go. */
const LOOKED_AT = 32

/** Keys looked at before one that is being denied is the one to go. */
const LOOKED_AT_MOST = 16_384

/** A state's first cell says when it ends; a row of a log holds the log's handle after it. */
const EXPIRES_AT = 0
export const LOG_HANDLE = 1

export class Table {
  rows: Rows
  /** What `look` found best to give up: a row of `rows`, or −1, and its pressure. */
  victim = -1
  victimPressure = 0
  readonly #width: number
  /** The capacity that has room for all the rows there may be. */
  #largest: number
  readonly #logs: LogArena | undefined
  #retiring: Rows | undefined
  #frontier = 0
  #hand = 0

  /** `logs` is where the logs live whose handles the rows hold, if they hold any. */
  constructor(width: number, maxRows: number, logs?: LogArena) {
    this.#width = width
    this.#largest = SMALLEST_CAPACITY
    while (mostTaken(this.#largest) < maxRows) this.#largest *= 2
    this.#logs = logs
    this.rows = new Rows(width, SMALLEST_CAPACITY)
  }

  get width(): number {
    return this.#width
  }

  get holdsLogs(): boolean {
    return this.#logs !== undefined
  }

  get count(): number {
    return this.rows.count + (this.#retiring?.count ?? 0)
  }

  /** The rows in which a fingerprint is, or would be. */
  rowsFor(hi: number): Rows {
    const retiring = this.#retiring
    return retiring !== undefined && retiring.home(hi) >= this.#frontier ? retiring : this.rows
  }

  /** Gets an empty table ready for so many rows at once, which may then come in the order of their fingerprints. */
  reserve(rows: number): void {
    let { capacity } = this.rows
    while (mostTaken(capacity) < rows && capacity < this.#largest) capacity *= 2
    this.rows = new Rows(this.#width, capacity)
  }

  /** Gets ready for `claims` more rows: rows may move. */
  prepare(claims: number): void {
    const { count, capacity } = this.rows
    if (this.#retiring !== undefined) this.#move(MOVED_PER_CLAIM * claims)
    else if (count + claims > mostTaken(capacity) && capacity < this.#largest) this.#resize(capacity * 2)
  }

  /** Takes a row for a fingerprint that has none; → its number in `rowsFor(hi)`. */
  claim(lo: number, hi: number): number {
    for (;;) {
      const rows = this.rowsFor(hi)
      const row = ~rows.find(lo, hi)
      if (!rows.isLast(row)) {
        rows.claim(row, lo, hi)
        return row
      }
      if (rows === this.#retiring) this.#finishMove()
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
    this.#finishMove()
    const { rows } = this
    for (let row = 0; row < rows.length; row++) {
      if (rows.isTaken(row) && rows.cells[rows.at(row) + EXPIRES_AT] > nowMs) visit(rows, row)
    }
  }

  /** Drops all that has expired; → how many. */
  clean(nowMs: number): number {
    this.#finishMove()
    const before = this.rows.count
    for (let row = 0; row < this.rows.length; row++) this.#dropExpired(row, nowMs)
    return before - this.rows.count
  }

  /** Looks after a `share` of the rows: drops what has expired, moves on a move, and after each round shrinks what has become far too large. */
  sweep(nowMs: number, share: number): void {
    if (this.#retiring !== undefined) return this.#move(Math.ceil(this.#retiring.length * share))
    const { rows } = this
    for (let left = Math.ceil(rows.length * share); left > 0; left--) {
      this.#dropExpired(this.#hand, nowMs)
      this.#hand += 1
      if (this.#hand < rows.length) continue
      this.#hand = 0
      const { count, capacity } = rows
      if (capacity > SMALLEST_CAPACITY && count < mostTaken(capacity) / 16) {
        return this.#resize(Math.max(SMALLEST_CAPACITY, capacity / 4))
      }
    }
  }

  /**
   * Goes on round the table from where it last stopped. Drops what has expired; → how many. If nothing has, `victim` is
   * the row under the least pressure, and of those the one that ends first; one that is being denied only where there is no other.
   */
  look(nowMs: number): number {
    this.#finishMove()
    const { rows } = this
    const before = rows.count
    this.victim = -1
    this.victimPressure = DENIED + 1
    let victimEnds = 0
    let seen = 0
    for (let left = rows.length; left > 0 && seen < LOOKED_AT_MOST; left--) {
      if (seen >= LOOKED_AT && (this.victimPressure < DENIED || rows.count < before)) break
      const row = this.#hand
      this.#hand = (row + 1) % rows.length
      this.#dropExpired(row, nowMs)
      if (!rows.isTaken(row)) continue
      seen += 1
      const pressure = rows.pressure[row]
      const ends = rows.cells[rows.at(row) + EXPIRES_AT]
      if (pressure < this.victimPressure || (pressure === this.victimPressure && ends < victimEnds)) {
        this.victim = row
        this.victimPressure = pressure
        victimEnds = ends
      }
    }
    return before - rows.count
  }

  /** Drops what has expired at `row`, and whatever expired moves up into its place. */
  #dropExpired(row: number, nowMs: number): void {
    const { rows } = this
    while (rows.isTaken(row) && rows.cells[rows.at(row) + EXPIRES_AT] <= nowMs) this.drop(rows, row)
  }

  #resize(capacity: number): void {
    this.#retiring = this.rows
    this.#frontier = 0
    this.#hand = 0
    this.rows = new Rows(this.#width, capacity)
  }

  /** Moves at least `least` rows, and on to the end of the run. */
  #move(least: number): void {
    const retiring = this.#retiring
    if (retiring === undefined) return
    let looked = 0
    for (; this.#frontier < retiring.length; looked++) {
      const row = this.#frontier++
      if (!retiring.isTaken(row)) {
        if (looked >= least) return
        continue
      }
      while (!this.rows.adopt(retiring, row)) this.#lengthenTail()
      retiring.count -= 1
    }
    this.#retiring = undefined
  }

  #finishMove(): void {
    this.#move(Number.POSITIVE_INFINITY)
  }

  /** Gives a table whose last run reached the very end a longer tail, at once: so unlikely that it may cost a pause. */
  #lengthenTail(): void {
    const { rows } = this
    const { capacity, tail } = rows
    this.rows = new Rows(this.#width, capacity, tail * 2)
    for (let row = 0; row < rows.length; row++) if (rows.isTaken(row)) this.rows.adopt(rows, row)
  }
}
