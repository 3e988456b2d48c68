// Holds: units of a state that are set aside until they are settled, cancelled or expire. No rule knows of them.
// Invariants: a hold has at least one unit. Holds are dropped once they have expired, before anything else is decided.

import type { Rule } from './rule.ts'
import { MAX_TIME_MS } from './whole-numbers.ts'

/** The open holds of one state. Each has a number, until one of them is dropped. */
export interface Holds {
  readonly length: number
  /** Sum of the units of all holds. */
  readonly units: number
  /** True if the store has no space for more holds. */
  readonly isFull: boolean
  /** Returns the number of a hold, and the number of the one after another; −1 if there is none. */
  first(): number
  next(hold: number): number
  /** Returns the number of the hold with this id; −1 if there is none. */
  find(id: number): number
  unitsOf(hold: number): number
  expiresAt(hold: number): number
  /** True if the units are charged when the hold expires, false if they are released. */
  isCharged(hold: number): boolean
  /** Returns a copy of a hold. */
  facts(hold: number): NewHold
  add(hold: NewHold): void
  /** Lets a hold expire at another time. */
  extend(hold: number, expiresAt: number): void
  /** Drops a hold. The numbers of others may change. */
  drop(hold: number): void
  /** Drops the holds that have expired, and returns them in the order of their ends. */
  takeExpired(nowMs: number): readonly NewHold[]
}

/** The result of `takeExpired` if no hold has expired. */
export const NONE_EXPIRED: readonly NewHold[] = []

/** Sorts holds by their ends. */
export function byEnd(holds: NewHold[]): readonly NewHold[] {
  return holds.sort((a, b) => a.expiresAt - b.expiresAt)
}

export interface NewHold {
  readonly id: number
  readonly units: number
  readonly expiresAt: number
  readonly isCharged: boolean
}

/** The longest time of a hold: seven days. One that is needed for longer is extended. */
export const LONGEST_HOLD_MS = 7 * 86_400_000

/** Cells of one hold in a state: its id, its units (negative if they are released when it expires), and its end. */
export const HOLD_CELLS = 3

/** Cells after the holds of a state: the end of the state without its holds, and the number of holds. */
const LAST_CELLS = 2

/** Holds that a store has loaded, as cells. */
export class LoadedHolds implements Holds {
  /** `HOLD_CELLS` numbers for each hold, in the order in which they came. */
  readonly cells: number[]
  readonly isFull = false

  constructor(cells: readonly number[] = []) {
    this.cells = [...cells]
  }

  /** Returns a copy of other holds. */
  static of(others: Holds): LoadedHolds {
    const holds = new LoadedHolds()
    for (let hold = others.first(); hold >= 0; hold = others.next(hold)) holds.add(others.facts(hold))
    return holds
  }

  get length(): number {
    return this.cells.length / HOLD_CELLS
  }

  get units(): number {
    let units = 0
    for (let i = 0; i < this.length; i++) units += this.unitsOf(i)
    return units
  }

  first(): number {
    return this.cells.length === 0 ? -1 : 0
  }

  next(hold: number): number {
    return hold + 1 < this.length ? hold + 1 : -1
  }

  find(id: number): number {
    for (let i = 0; i < this.length; i++) if (this.cells[i * HOLD_CELLS] === id) return i
    return -1
  }

  unitsOf(hold: number): number {
    return Math.abs(this.cells[hold * HOLD_CELLS + 1])
  }

  expiresAt(hold: number): number {
    return this.cells[hold * HOLD_CELLS + 2]
  }

  isCharged(hold: number): boolean {
    return this.cells[hold * HOLD_CELLS + 1] > 0
  }

  facts(hold: number): NewHold {
    const id = this.cells[hold * HOLD_CELLS]
    return { id, units: this.unitsOf(hold), expiresAt: this.expiresAt(hold), isCharged: this.isCharged(hold) }
  }

  add({ id, units, expiresAt, isCharged }: NewHold): void {
    this.cells.push(id, isCharged ? units : -units, expiresAt)
  }

  extend(hold: number, expiresAt: number): void {
    this.cells[hold * HOLD_CELLS + 2] = expiresAt
  }

  drop(hold: number): void {
    this.cells.splice(hold * HOLD_CELLS, HOLD_CELLS)
  }

  takeExpired(nowMs: number): readonly NewHold[] {
    const { cells } = this
    const expired: NewHold[] = []
    let kept = 0
    for (let at = 0; at < cells.length; at += HOLD_CELLS) {
      if (cells[at + 2] <= nowMs) expired.push(this.facts(at / HOLD_CELLS))
      else if (expired.length === 0) kept = at + HOLD_CELLS
      else for (let cell = 0; cell < HOLD_CELLS; cell++) cells[kept++] = cells[at + cell]
    }
    cells.length = kept
    return byEnd(expired)
  }
}

/** Returns the time until which a hold may count: one that is charged when it expires counts for a while after it. */
export function lastsUntil(expiresAt: number, isCharged: boolean, windowMs: number): number {
  return isCharged ? expiresAt + 2 * windowMs : expiresAt
}

/**
 * Returns the end of a state with holds: the time from which nobody needs it. A hold that is charged when it expires lets a bucket in
 * debt end later, by at most one window for all holds together; if the limit was larger when they were granted, by one window for each
 * time that their units fill the limit.
 */
export function endWithHolds(endsAt: number, holds: Holds, { limit, windowMs }: Terms): number {
  let end = endsAt
  let charged = 0
  for (let hold = holds.first(); hold >= 0; hold = holds.next(hold)) {
    end = Math.max(end, lastsUntil(holds.expiresAt(hold), holds.isCharged(hold), windowMs))
    if (!holds.isCharged(hold)) continue
    end = Math.max(end, endsAt + windowMs)
    charged += holds.unitsOf(hold)
  }
  const windows = Math.max(0, Math.ceil(charged / Math.max(1, limit)) - 1)
  return Math.min(end + windows * windowMs, Math.max(end, MAX_TIME_MS))
}

/** The part of a rule that says how long charged units may count. */
type Terms = Pick<Rule, 'limit' | 'windowMs'>

/** True if these are the cells of a state with holds, as a store keeps them. */
export function hasHolds(kept: Float64Array): boolean {
  return kept[kept.length - 1] < 0
}

/**
 * Joins a state and its holds to the cells that a store keeps: the end of all, the other cells of the state, the cells of each hold,
 * the end of the state alone, and the negative number of holds. No cell of a rule is negative.
 */
export function joinHolds(cells: Float64Array, holds: LoadedHolds, terms: Terms): Float64Array {
  if (holds.length === 0) return cells
  const { length } = cells
  const joined = new Float64Array(length + holds.cells.length + LAST_CELLS)
  joined.set(cells)
  joined.set(holds.cells, length)
  joined.set([cells[0], -holds.length], length + holds.cells.length)
  joined[0] = endWithHolds(cells[0], holds, terms)
  return joined
}

/** Splits the cells of a state with holds. Undefined if they do not belong together. */
export function splitHolds(kept: Float64Array): { readonly cells: Float64Array; readonly holds: LoadedHolds } | undefined {
  const last = kept.length - 1
  const width = last - 1 + kept[last] * HOLD_CELLS
  if (!Number.isInteger(width) || width < 1) return undefined
  const holds = Array.from(kept.subarray(width, last - 1))
  const areHolds = holds.every((cell, i) => Number.isSafeInteger(cell) && (i % HOLD_CELLS === 1 ? cell !== 0 : cell >= 0))
  if (!areHolds) return undefined
  const cells = kept.slice(0, width)
  cells[0] = kept[last - 1]
  return { cells, holds: new LoadedHolds(holds) }
}
