// The rows to evict: the weakest of those that a search was shown.

import { FULL, HEAVY, type Rows } from './rows.ts'
import type { Table } from './table.ts'

/** Rows under less pressure, a sixteenth of the limit, forgive next to nothing: a search that has found enough of them ends. */
const NEXT_TO_NOTHING = FULL / 16

/** Epochs for which a heavy row is young: a quarter of all rows that the store can hold have been claimed since. */
const YOUNG = 8

interface Candidate {
  table: Table
  rows: Rows
  row: number
  pressure: number
  age: number
}

/**
 * Eviction forgives what a key has used, so the row that has used the smallest share of its limit goes first. Of equals, among
 * heavy rows, the newest goes first: so a flood of heavy rows evicts itself and not the rows that were there before it.
 */
export class Victims {
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
    this.count = 0
    this.mostPressure = FULL
  }

  /** True if no further row can be worth more than a little. */
  get isEnough(): boolean {
    return this.count === this.#wanted && this.mostPressure < NEXT_TO_NOTHING
  }

  show(table: Table, rows: Rows, row: number, epoch: number): void {
    const candidates = this.#candidates
    const pressure = rows.pressure[row]
    const age = pressure < HEAVY ? 0 : rows.age(row, epoch)
    let place = this.count
    while (place > 0 && isWeaker(pressure, age, candidates[place - 1])) place -= 1
    if (place === this.#wanted) return
    if (this.count < this.#wanted) this.count += 1
    // The candidate that falls out, or a new one, is written anew.
    const candidate = candidates[this.count - 1] ?? { table, rows, row, pressure, age }
    for (let i = this.count - 1; i > place; i--) candidates[i] = candidates[i - 1]
    candidates[place] = candidate
    candidate.table = table
    candidate.rows = rows
    candidate.row = row
    candidate.pressure = pressure
    candidate.age = age
    if (this.count === this.#wanted) this.mostPressure = candidates[this.#wanted - 1].pressure
  }

  /** Drops the weakest row, and of the others those that are light or young. Nothing may have changed since they were shown. Returns how many. */
  evict(): number {
    const evicted = this.#evicted
    evicted.length = 0
    for (let i = 0; i < this.count; i++) {
      const candidate = this.#candidates[i]
      if (i === 0 || candidate.pressure < HEAVY || candidate.age < YOUNG) evicted.push(candidate)
    }
    // The last row first: dropping one moves only rows behind it.
    evicted.sort((a, b) => b.row - a.row)
    for (const { table, rows, row } of evicted) table.drop(rows, row)
    return evicted.length
  }
}

function isWeaker(pressure: number, age: number, than: Candidate): boolean {
  return pressure < than.pressure || (pressure === than.pressure && age < than.age)
}
