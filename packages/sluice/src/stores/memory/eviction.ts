// Makes room in a full store: chooses the states to give up, in a bounded number of rows over all tables together.

import { FULL } from './rows.ts'
import type { Look, Table } from './table.ts'
import { Victims } from './victims.ts'

/** Live rows that a search compares, over all tables, and the most rows that it looks at for them, empty and expired ones included. */
const LOOK: Look = { enough: 64, most: 256 }

/** The same, before keys are evicted that have used all of their limit. */
const LONG_LOOK: Look = { enough: 512, most: 512 }

/** After a long look that found only full rows, so many searches make do with a short one: the next long one would find no other. */
const SHORT_LOOK: Look = { enough: 32, most: 128 }
const SHORT_AFTER_FRUITLESS = 7

/** Tables looked at in one search. Where there are more, they take turns. */
const MOST_TABLES = 4

/** Rows that one search looks at, at the most. */
export const MOST_LOOKED = LOOK.most + LONG_LOOK.most

/** Rows that one search evicts at the most, so that the next new keys need none: of the live rows that it looks at, an eighth to a quarter. In small stores fewer. */
const MOST_EVICTED = 8
const KEYS_AN_EVICTED = 256

/** Rows claimed in one epoch, as a share of `maxKeys`: see `Rows.age`. */
const EPOCH_SHARE = 1 / 32

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

  /** One search. Drops the expired rows that it meets; where there are none, evicts the rows that forgive least. */
  makeRoom(tables: readonly Table[], nowMs: number): void {
    const victims = this.#victims
    const isShort = this.#shortSearches > 0
    if (isShort) this.#shortSearches -= 1
    let dropped = this.#search(tables, isShort ? SHORT_LOOK : LOOK, nowMs)
    if (dropped === 0 && victims.mostPressure === FULL && !(isShort && victims.count > 0)) {
      dropped = this.#search(tables, LONG_LOOK, nowMs)
      if (victims.mostPressure === FULL) this.#shortSearches = SHORT_AFTER_FRUITLESS
    }
    this.#turn += 1
    if (dropped > 0) return
    this.evictions += victims.evict()
  }

  #search(tables: readonly Table[], look: Look, nowMs: number): number {
    this.#victims.clear()
    const taken = tables.length === 1 ? tables : tables.filter(({ count }) => count > 0)
    const searched = Math.min(taken.length, MOST_TABLES)
    const share = { enough: Math.ceil(look.enough / searched), most: Math.floor(look.most / searched) }
    let dropped = 0
    for (let i = 0; i < searched; i++) {
      dropped += taken[(this.#turn + i) % taken.length].search(share, nowMs, this.epoch, this.#victims)
    }
    return dropped
  }
}
