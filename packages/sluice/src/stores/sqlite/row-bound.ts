// Keeps the number of states bounded: evicts states from a table that has too many, and sweeps states that have ended.
// Invariants: an eviction and a sweep look at a bounded number of rows. States of the call that adds a state are not evicted.

import { BEFORE_ALL, FULL, type RowView, type SqliteTable } from './sqlite-table.ts'

/** A search for states to evict looks at so many rows. While all of them have used their whole limit, it goes on elsewhere. */
const ROWS_A_SEARCH = 64
const MOST_SEARCHES = 4

/** A search evicts one of so many rows, so that the next new keys need no search. */
const ROWS_AN_EVICTED = 8

/** After so many writes, a sweep looks at twice as many rows. So it passes the whole table before the table has doubled. */
const WRITES_A_SWEEP = 64
const ROWS_A_SWEEP = 2 * WRITES_A_SWEEP

/** A sweep spares states for an hour after their end. If the clock is set back by less, their counts are still there. */
const SPARED_MS = 3_600_000

export class RowBound {
  readonly #table: SqliteTable
  readonly #maxKeys: number
  readonly #random: () => number
  #writes = 0
  #sweptTo = BEFORE_ALL

  constructor(table: SqliteTable, maxKeys: number, random: () => number) {
    this.#table = table
    this.#maxKeys = maxKeys
    this.#random = random
  }

  /**
   * Evicts states if there are more than `maxKeys`. States with a name in `own` stay. Returns the number of evicted states that had not
   * ended.
   */
  keep(states: number, nowMs: number, own: readonly string[]): number {
    if (states <= this.#maxKeys) return 0
    const rows: RowView[] = []
    for (let search = 0; search < MOST_SEARCHES; search++) {
      const from = this.#random()
      const sample = this.#table.sample(from, ROWS_A_SEARCH)
      // If people delete rows by themselves, the number stays too large, and a table with much space would evict for ever.
      const isWrong = this.#table.hasFewerThan(states, sample, from, ROWS_A_SEARCH)
      if (isWrong && this.#table.recount() <= this.#maxKeys) return 0
      const found = sample.filter(({ name }) => !own.includes(name))
      const ended = found.filter(({ endsAt }) => endsAt <= nowMs)
      if (ended.length > 0) {
        this.#table.removeAll(ended)
        return 0
      }
      rows.push(...found)
      if (found.some(({ share }) => share < FULL)) break
    }
    const evicted = weakestOf(rows)
    this.#table.removeAll(evicted)
    return evicted.length
  }

  /** Counts the writes of a transaction. Returns true if it is time for `sweep`. */
  hasWritten(writes: number): boolean {
    this.#writes += writes
    return this.#writes >= WRITES_A_SWEEP
  }

  /** Sweeps the next rows. */
  sweep(nowMs: number): void {
    this.#writes = 0
    const { last } = this.#table.sweep(this.#sweptTo, ROWS_A_SWEEP, nowMs - SPARED_MS)
    this.#sweptTo = last ?? BEFORE_ALL
  }
}

/**
 * Returns the rows to evict: those that have used the smallest share of their limit. If they have used the same, the youngest go first,
 * so that a flood of new keys evicts its own states. A row is not evicted together with one of a weaker class.
 */
function weakestOf(rows: readonly RowView[]): readonly RowView[] {
  const unique = [...new Map(rows.map((row) => [row.name, row])).values()]
  const weakest = Math.min(...unique.map(classOf))
  return unique
    .filter((row) => classOf(row) === weakest)
    .sort((a, b) => a.share - b.share || b.since - a.since)
    .slice(0, Math.ceil(unique.length / ROWS_AN_EVICTED))
}

/** Returns 0 for a state that has used less than half of its limit, 2 for one that has used it up, and 1 for all between. */
function classOf({ share }: RowView): number {
  return share < FULL / 2 ? 0 : share < FULL ? 1 : 2
}
