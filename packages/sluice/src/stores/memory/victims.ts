// The rows to evict: the weakest of those that a search was shown.

import { FULL, HEAVY, type Rows } from './rows.ts'
import type { Table } from './table.ts'

/** Rows under less pressure, a sixteenth of the limit, forgive next to nothing: a search that has found enough of them ends. */
const NEXT_TO_NOTHING = FULL / 16

/** Epochs for which a heavy row is young: three eighths of all rows that the store can hold have been claimed since. */
const YOUNG = 3

/** Of so many live rows one may be evicted, so that searches take few of many; of rows that forgive next to nothing one of fewer. */
const LIVE_AN_EVICTED = 8
const LIVE_AN_EVICTED_LIGHTLY = 4

interface Candidate {
  table: Table
  rows: Rows
  row: number
  pressure: number
  rank: number
}

/**
 * Eviction forgives what a key has used, so the row that has used the smallest share of its limit goes first. Of heavy rows
 * under equal pressure, young ones go before old ones. So a flood of heavy rows evicts itself, and not the rows that were there
 * before it. Of young rows the oldest goes first: a key that has used its limit during such a flood stays for a while too.
 */
export class Victims {
  /** Live rows that were looked at. */
  live = 0
  count = 0
  /** A row under more pressure than this need not be shown, and a light one under as much: enough weaker ones have been. */
  mostPressure = FULL
  /** The weakest first. Kept and reused: a search makes no object. */
  readonly #candidates: Candidate[] = []
  readonly #evicted: Candidate[] = []
  readonly #wanted: number

  constructor(wanted: number) {
    this.#wanted = wanted
  }

  clear(): void {
    this.live = 0
    this.count = 0
    this.mostPressure = FULL
  }

  /** True if no further row could be weaker by more than a little. */
  get isEnough(): boolean {
    return this.count === this.#wanted && this.mostPressure < NEXT_TO_NOTHING
  }

  /** Pressure of the weakest row; FULL if there is none. */
  get leastPressure(): number {
    return this.count === 0 ? FULL : this.#candidates[0].pressure
  }

  show(table: Table, rows: Rows, row: number, epoch: number): void {
    const candidates = this.#candidates
    const pressure = rows.pressure[row]
    const rank = pressure < HEAVY ? 0 : rankOf(rows.age(row, epoch))
    let place = this.count
    while (place > 0 && isWeaker(pressure, rank, candidates[place - 1])) place -= 1
    if (place === this.#wanted) return
    if (this.count < this.#wanted) this.count += 1
    // The candidate that falls out, or a new one, is written anew.
    const candidate = candidates[this.count - 1] ?? { table, rows, row, pressure, rank }
    for (let i = this.count - 1; i > place; i--) candidates[i] = candidates[i - 1]
    candidates[place] = candidate
    candidate.table = table
    candidate.rows = rows
    candidate.row = row
    candidate.pressure = pressure
    candidate.rank = rank
    if (this.count === this.#wanted) this.mostPressure = candidates[this.#wanted - 1].pressure
  }

  /**
   * Drops the weakest row, and of the next weakest those that are light or young: so many that they are a share of the live rows
   * that were looked at, and more go where rows are crowded. Nothing may have changed since they were shown. Returns how many.
   */
  evict(): number {
    const evicted = this.#evicted
    evicted.length = 0
    const share = this.isEnough ? LIVE_AN_EVICTED_LIGHTLY : LIVE_AN_EVICTED
    const most = Math.min(this.count, Math.max(1, Math.round(this.live / share)))
    for (let i = 0; i < most; i++) {
      const candidate = this.#candidates[i]
      if (i === 0 || candidate.pressure < HEAVY || candidate.rank < YOUNG) evicted.push(candidate)
    }
    // The last row first: dropping one moves only rows behind it.
    evicted.sort((a, b) => b.row - a.row)
    for (const { table, rows, row } of evicted) table.drop(rows, row)
    return evicted.length
  }
}

/** Young rows, the oldest first; then old ones, the newest first. */
function rankOf(age: number): number {
  return age < YOUNG ? YOUNG - 1 - age : age
}

function isWeaker(pressure: number, rank: number, than: Candidate): boolean {
  return pressure < than.pressure || (pressure === than.pressure && rank < than.rank)
}
