// Makes space in a full store: selects states to evict, in a bounded number of rows over all tables together.

import { FULL } from '../../core/rule-log.ts'
import type { Table } from './table.ts'
import { type ChooseVictims, Victims } from './victims.ts'

/** Number of rows that a search reads, over all tables: live, empty and expired ones. */
const LOOK = 160

/** Number of rows that a long search reads, before full rows are evicted. It covers the smallest tables completely. */
const LONG_LOOK = 1056

/** Number of short searches after a long search that found only full rows. Another long one would find the same. */
const SHORT_AFTER_FRUITLESS = 7

/** The fewest rows that a search reads in a table, even if the table's share is smaller. */
const LEAST_SHARE = 16

/** The most tables in one search. If there are more, they take turns. */
const MOST_TABLES = 4

/** The most rows that one search evicts, so that the next new keys need no search. Fewer in small stores. */
const MOST_EVICTED = 20
const KEYS_AN_EVICTED = 128

export class Eviction {
  /** Number of states that were evicted before they had ended. */
  evictions = 0
  readonly #victims: Victims
  #turn = 0
  #shortSearches = 0

  constructor(maxKeys: number) {
    this.#victims = new Victims(Math.min(MOST_EVICTED, Math.ceil(maxKeys / KEYS_AN_EVICTED)))
  }

  /**
   * Searches once. Drops expired rows. If there are none, evicts the weakest rows, of which `choose` may select some. The search is
   * short if only light rows can go.
   */
  makeSpace(tables: readonly Table[], nowMs: number, choose?: ChooseVictims, isLight = false): void {
    const victims = this.#victims
    let dropped = this.#search(tables, LOOK, nowMs)
    if (dropped === 0 && !isLight && victims.mostPressure === FULL) {
      if (this.#shortSearches > 0 && victims.count > 0) {
        this.#shortSearches -= 1
      } else {
        dropped = this.#search(tables, LONG_LOOK, nowMs)
        if (victims.leastPressure === FULL) this.#shortSearches = SHORT_AFTER_FRUITLESS
      }
    }
    this.#turn += 1
    if (dropped === 0) this.evictions += victims.evict(choose)
  }

  #search(tables: readonly Table[], most: number, nowMs: number): number {
    this.#victims.clear()
    const taken = tables.filter(({ count }) => count > 0)
    const searched = taken.slice(0, MOST_TABLES).map((_, i) => taken[(this.#turn + i) % taken.length])
    let rows = 0
    for (const table of searched) rows += table.rows.length
    let dropped = 0
    for (const table of searched) {
      // The share depends on the size: rows of small tables must not be read more often than rows of large tables.
      const share = Math.max(LEAST_SHARE, Math.ceil((most * table.rows.length) / rows))
      dropped += table.search(share, nowMs, table.epochs.present, this.#victims)
    }
    return dropped
  }
}
