// Keeps the number of rows of an object bounded: sweeps rows that have ended, and evicts rows for new ones if the table is full.
// Invariant: a message with calls reads a bounded number of rows for this, and so does an alarm.

import { MOST_SHARE, type ObjectTable, type RowView } from './object-table.ts'

/** After so many writes, a sweep reads twice as many rows. So it passes the whole table before the table has doubled. */
const WRITES_A_SWEEP = 64
const ROWS_A_SWEEP = 2 * WRITES_A_SWEEP

/** An alarm sweeps up to so many rows. */
const ROWS_AN_ALARM = 10_000

/** A sweep keeps rows for an hour after their end. If the clock is set back by less, their counts are still there. */
export const SPARED_MS = 3_600_000

/** The delay of the next alarm, if the sweep has not passed all rows. */
const NEXT_STEP_MS = 1000

/** A search for rows to evict reads so many neighbours. It goes on elsewhere, a few times, while all of them have used their limit. */
const ROWS_A_SEARCH = 64
const MOST_SEARCHES = 4

/** One of so many rows that a search has read is evicted, so that the next new rows need no search. */
const READ_AN_EVICTED = 8

export class RowBound {
  readonly #table: ObjectTable
  readonly #maxKeys: number
  #writes = 0
  /** The sweep after writes goes on after this id, and the sweep by alarms after the other one. */
  #sweptTo = 0
  #alarmedTo = 0
  /** The earliest end of the rows that the alarms of the present round have kept. */
  #firstEnd = Number.POSITIVE_INFINITY

  constructor(table: ObjectTable, maxKeys: number) {
    this.#table = table
    this.#maxKeys = maxKeys
  }

  /** Makes space for one new row. */
  makeSpace(nowMs: number): void {
    if (this.#table.count < this.#maxKeys) return
    let rows: readonly RowView[] = []
    for (let search = 0; search < MOST_SEARCHES; search++) {
      rows = this.#someRows()
      const ended = rows.filter(({ endsAt }) => endsAt <= nowMs)
      if (ended.length > 0) return this.#table.removeAll(ended)
      if (rows.some(({ share }) => share < MOST_SHARE)) break
    }
    // The youngest of equal rows goes first. So a flood of new keys evicts its own rows.
    const weakest = rows.toSorted((a, b) => a.share - b.share || b.id - a.id)
    this.#table.removeAll(weakest.slice(0, Math.ceil(rows.length / READ_AN_EVICTED)))
  }

  /** Counts writes, and sweeps a few rows now and then. */
  wrote(writes: number, nowMs: number): void {
    this.#writes += writes
    if (this.#writes < WRITES_A_SWEEP) return
    this.#writes = 0
    this.#sweptTo = this.#sweep(this.#sweptTo, ROWS_A_SWEEP, nowMs).nextId
  }

  /** Sweeps for an alarm. Returns the delay until the next alarm; undefined if there are no rows. */
  sweepForAlarm(nowMs: number): number | undefined {
    if (this.#alarmedTo === 0) this.#firstEnd = Number.POSITIVE_INFINITY
    const { nextId, firstEnd } = this.#sweep(this.#alarmedTo, ROWS_AN_ALARM, nowMs)
    this.#alarmedTo = nextId
    this.#firstEnd = Math.min(this.#firstEnd, firstEnd)
    if (nextId > 0) return NEXT_STEP_MS
    return this.#firstEnd === Number.POSITIVE_INFINITY ? undefined : alarmDelay(this.#firstEnd, nowMs)
  }

  /** Drops every row that has ended. Returns their number. */
  clean(nowMs: number): number {
    let cleaned = 0
    for (let after = 0; ; ) {
      const rows = this.#table.rowsAfter(after, ROWS_AN_ALARM)
      const ended = rows.filter(({ endsAt }) => endsAt <= nowMs)
      this.#table.removeAll(ended)
      cleaned += ended.length
      if (rows.length < ROWS_AN_ALARM) return cleaned
      after = rows[rows.length - 1].id
    }
  }

  /** Sweeps the rows after an id. Returns the id where the next sweep begins, and the earliest end of the rows that are kept. */
  #sweep(afterId: number, most: number, nowMs: number): { readonly nextId: number; readonly firstEnd: number } {
    const rows = this.#table.rowsAfter(afterId, most)
    const hasEnded = ({ endsAt }: RowView): boolean => endsAt <= nowMs - SPARED_MS
    this.#table.removeAll(rows.filter(hasEnded))
    const kept = rows.filter((row) => !hasEnded(row))
    return {
      nextId: rows.length < most ? 0 : rows[rows.length - 1].id,
      firstEnd: kept.reduce((first, { endsAt }) => Math.min(first, endsAt), Number.POSITIVE_INFINITY),
    }
  }

  #someRows(): readonly RowView[] {
    const range = this.#table.idRange()
    if (range === undefined) return []
    const [first, last] = range
    const before = first + Math.floor(Math.random() * (last - first + 1)) - 1
    const rows = this.#table.rowsAfter(before, ROWS_A_SEARCH)
    if (rows.length === ROWS_A_SEARCH) return rows
    // Near the end there are fewer rows. The search goes on at the beginning.
    const others = this.#table.rowsAfter(0, ROWS_A_SEARCH - rows.length)
    return [...rows, ...others.filter(({ id }) => id <= before)]
  }
}

/** Returns the time from now until a state that ends at `endsAt` may be swept. */
export function alarmDelay(endsAt: number, nowMs: number): number {
  return Math.max(0, endsAt - nowMs) + SPARED_MS
}
