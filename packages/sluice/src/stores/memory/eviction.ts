// Makes room in a full store: chooses the states to give up, in a bounded number of rows over all tables together.

import { FULL } from './rows.ts'
import type { Table } from './table.ts'
import { Victims } from './victims.ts'

/** Rows that a search looks at, over all tables: live, empty and expired ones. */
const LOOK = 160

/** The same, before keys are evicted that have used all of their limit. Covers the smallest tables whole. */
const LONG_LOOK = 1056

/** After a long look that found only full rows, so many searches do without: the next long one would find no other. */
const SHORT_AFTER_FRUITLESS = 7

/** Rows that a search looks at in a table at the least, however small its share. */
const LEAST_SHARE = 16

/** Tables looked at in one search. Where there are more, they take turns. */
const MOST_TABLES = 4

/** Rows that one search looks at, at the most. */
export const MOST_LOOKED = LOOK + LONG_LOOK + 2 * MOST_TABLES * LEAST_SHARE

/** Rows that one search evicts at the most, so that the next new keys need none. In small stores fewer. */
const MOST_EVICTED = 20
const KEYS_AN_EVICTED = 128

/** Rows claimed in one epoch, as a share of `maxKeys`: see `Rows.age`. */
const EPOCH_SHARE = 1 / 8

export class Eviction {
  /** States that gave way to others before they had ended. */
  evictions = 0
  /** The age of rows is counted in epochs. */
  epoch = 0
  readonly #claimsAnEpoch: number
  readonly #victims: Victims
  #claims = 0
  #turn = 0
  #shortSearches = 0

  constructor(maxKeys: number) {
    this.#claimsAnEpoch = Math.max(1, Math.floor(maxKeys * EPOCH_SHARE))
    this.#victims = new Victims(Math.min(MOST_EVICTED, Math.ceil(maxKeys / KEYS_AN_EVICTED)))
  }

  countClaims(states: number): void {
    this.#claims += states
    if (this.#claims < this.#claimsAnEpoch) return
    this.#claims = 0
    this.epoch = (this.epoch + 1) & 255
  }

  /** One search. Drops the expired rows that it meets; where there are none, evicts the rows that forgive least, or none if they are full and to be spared. */
  makeRoom(tables: readonly Table[], nowMs: number, sparesFull = false): void {
    const victims = this.#victims
    let dropped = this.#search(tables, LOOK, nowMs)
    if (dropped === 0 && !sparesFull && victims.mostPressure === FULL) {
      if (this.#shortSearches > 0 && victims.count > 0) {
        this.#shortSearches -= 1
      } else {
        dropped = this.#search(tables, LONG_LOOK, nowMs)
        if (victims.leastPressure === FULL) this.#shortSearches = SHORT_AFTER_FRUITLESS
      }
    }
    this.#turn += 1
    if (dropped > 0 || (sparesFull && victims.leastPressure === FULL)) return
    this.evictions += victims.evict()
  }

  #search(tables: readonly Table[], most: number, nowMs: number): number {
    this.#victims.clear()
    const taken = tables.length === 1 ? tables : tables.filter(({ count }) => count > 0)
    const searched = Math.min(taken.length, MOST_TABLES)
    let rows = 0
    for (let i = 0; i < searched; i++) rows += taken[(this.#turn + i) % taken.length].rows.length
    let dropped = 0
    for (let i = 0; i < searched; i++) {
      const table = taken[(this.#turn + i) % taken.length]
      // By its size: a row of a small table must not be looked at more often than one of a large table.
      const share = Math.max(LEAST_SHARE, Math.ceil((most * table.rows.length) / rows))
      dropped += table.search(share, nowMs, this.epoch, this.#victims)
    }
    return dropped
  }
}
