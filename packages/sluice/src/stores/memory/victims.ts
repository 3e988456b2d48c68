// Selects the rows to evict: the weakest rows of a search.

import { FULL, LIGHT } from '../../core/rule-log.ts'
import { HEAVY, type Rows } from './rows.ts'
import type { Table } from './table.ts'

/** Number of epochs for which a heavy row is young. In that time three eighths of the rows can be claimed: see epochs.ts. */
const YOUNG = 3

/** Above this share of live rows, a search is in a crowded part of a table. A table is at most 0.7 full. */
const CROWDED = 0.85

/** Number of live rows in a search for each evicted row. Fewer are needed if the rows have used almost nothing. */
const LIVE_AN_EVICTED = 8
const LIVE_AN_EVICTED_LIGHTLY = 4

interface Candidate {
  table: Table
  rows: Rows
  row: number
  pressure: number
  /** Order of eviction: by pressure, and among heavy rows with equal pressure by age. */
  rank: number
}

/** Step between the ranks of two pressures. Above every age. */
const RANKS = 256

/** Selects among the weak rows of a search, or among all of them, the weakest first. */
export type ChooseVictims = (weak: Candidate[], all: Candidate[]) => Candidate[]

/**
 * Eviction forgets the units that a key has used. So the row with the smallest used share of its limit is evicted first. Among
 * heavy rows with equal pressure, young rows go before old ones. So a flood of heavy rows evicts itself, and not the rows from
 * before the flood. Among young rows the oldest goes first, so a key that has used its limit during a flood also stays for a
 * while.
 */
export class Victims {
  /** Number of live rows in the search, and of all rows in it. */
  live = 0
  looked = 0
  /** Rows with more pressure than this are skipped, because there are enough weaker rows. So are light rows with as much. */
  mostPressure = FULL
  /** Candidates, the weakest first. */
  #candidates: Candidate[] = []
  readonly #wanted: number

  constructor(wanted: number) {
    this.#wanted = wanted
  }

  clear(): void {
    this.live = 0
    this.looked = 0
    this.#candidates = []
    this.mostPressure = FULL
  }

  get count(): number {
    return this.#candidates.length
  }

  /** True if no further row can be much weaker. A search ends when it has found enough light rows. */
  get isEnough(): boolean {
    return this.count === this.#wanted && this.mostPressure < LIGHT
  }

  /** Pressure of the weakest row; FULL if there is none. */
  get leastPressure(): number {
    return this.#candidates[0]?.pressure ?? FULL
  }

  show(table: Table, rows: Rows, row: number, epoch: number): void {
    const candidates = this.#candidates
    const pressure = rows.pressure[row]
    const rank = pressure * RANKS + (pressure < HEAVY ? 0 : turnOf(rows.age(row, epoch)))
    let index = candidates.length
    while (index > 0 && rank < candidates[index - 1].rank) index -= 1
    if (index === this.#wanted) return
    candidates.splice(index, 0, { table, rows, row, pressure, rank })
    if (candidates.length > this.#wanted) candidates.pop()
    if (candidates.length === this.#wanted) this.mostPressure = candidates[this.#wanted - 1].pressure
  }

  /**
   * Drops the weakest row, and the next weakest rows that are light or young, up to a share of the live rows in the search. So
   * more rows go where rows are crowded. In a crowded part of a table old rows go too, because look-ups would become long there.
   * `choose` may select fewer of them.
   * Invariant: no row has changed since the search. Returns the number of dropped rows.
   */
  evict(choose: ChooseVictims = (weak) => weak): number {
    const share = this.isEnough ? LIVE_AN_EVICTED_LIGHTLY : LIVE_AN_EVICTED
    const most = Math.max(1, Math.round(this.live / share))
    const isCrowded = this.live > CROWDED * this.looked
    const candidates = this.#candidates
    const weak = candidates
      .slice(0, most)
      .filter(({ rank }, i) => i === 0 || isCrowded || rank < HEAVY * RANKS || rank % RANKS < YOUNG)
    // The last row is dropped first, because dropping a row moves only rows after it.
    const evicted = choose(weak, candidates).sort((a, b) => b.row - a.row)
    for (const { table, rows, row } of evicted) table.drop(rows, row)
    return evicted.length
  }
}

/** Returns the order of eviction by age: young rows, the oldest first; then old rows, the newest first. */
function turnOf(age: number): number {
  return age < YOUNG ? YOUNG - 1 - age : age
}
