// The holds of a memory store. A row with holds is flagged: its end is negative. The memory store knows no more than that, so that a
// bundle without holds does not contain them.
// Invariants: a row is flagged if and only if it has holds, except while a call is decided. A flagged row is evicted as late as the
// row of a key that has used its limit. Its holds go with it.

import type { Call, Figures } from '../../core/call.ts'
import { copyOf } from '../../core/copied-states.ts'
import { type HeldStates, heldStep } from '../../core/held-step.ts'
import { type Holds, joinHolds, LoadedHolds } from '../../core/holds.ts'
import type { State } from '../../core/step.ts'
import type { Store } from '../../core/store.ts'
import { HoldTable, RowHolds } from './hold-table.ts'
import { MemoryState } from './memory-store.ts'
import type { Location, MemoryTally } from './memory-tally.ts'
import { fingerprintOf, type Rows } from './rows.ts'

/** Lets limiters hold units in a memory store. Other stores hold units anyway. */
export function prepareHolds<S extends Store>(store: S): S {
  // Twice as many holds as keys: keys with one hold each are evicted before there are too many holds.
  if (store instanceof MemoryState) store.holds ??= new StoreHolds(2 * store.maxKeys)
  return store
}

/** Returns the flagged end of a state that has holds: a negative number. Of a flagged end, it returns the end. */
export function flaggedEnd(endsAt: number): number {
  return -1 - endsAt
}

export class StoreHolds {
  readonly table: HoldTable
  readonly #rows = new WeakMap<MemoryTally, HeldRows>()
  /** The tally of the last call, and its rows. */
  #tally: MemoryTally | undefined
  #heldRows: HeldRows | undefined

  /** At most `most` holds are open. The charges of one call may pass that. */
  constructor(most: number) {
    this.table = new HoldTable(most)
  }

  /** Decides a call that opens or ends a hold, or on rows of which one is flagged. */
  ask(call: Call, tally: MemoryTally, nowMs: number): Figures {
    if (tally !== this.#tally || this.#heldRows === undefined) {
      this.#heldRows = this.#rows.get(tally) ?? new HeldRows(tally, this.table)
      this.#rows.set(tally, this.#heldRows)
      this.#tally = tally
    }
    return heldStep(call, this.#heldRows, nowMs)
  }

  /** True if neither a row whose end is over nor its holds are needed any more. */
  areOver(rows: Rows, row: number, nowMs: number): boolean {
    const endsAt = rows.cells[rows.at(row)]
    if (endsAt >= 0) return true
    const [lo, hi] = fingerprintOf(rows, row)
    return this.table.lastsUntil(lo, hi, flaggedEnd(endsAt)) <= nowMs
  }

  /** Returns the cells of a flagged row, or of its log, joined with its holds. */
  join(cells: Float64Array, rows: Rows, row: number): Float64Array {
    const [lo, hi] = fingerprintOf(rows, row)
    const copy = cells.slice()
    if (copy[0] < 0) copy[0] = flaggedEnd(copy[0])
    const open = new RowHolds(this.table, 0)
    open.lo = lo
    open.hi = hi
    const joined = joinHolds(copy, LoadedHolds.of(open), 0)
    joined[0] = this.table.lastsUntil(lo, hi, copy[0])
    return joined
  }

  /** Takes over the holds of a row that was claimed, and flags the row. All of them may count until `lastsUntil`. */
  adopt(holds: Holds, rows: Rows, row: number, lastsUntil: number): void {
    const [lo, hi] = fingerprintOf(rows, row)
    for (let hold = holds.first(); hold >= 0; hold = holds.next(hold)) this.table.add(lo, hi, holds.facts(hold), lastsUntil)
    rows.cells[rows.at(row)] = flaggedEnd(rows.cells[rows.at(row)])
  }

  /** Drops the holds of a row. */
  drop(rows: Rows, row: number): void {
    if (rows.cells[rows.at(row)] >= 0) return
    const [lo, hi] = fingerprintOf(rows, row)
    this.table.dropAll(lo, hi)
  }
}

/** The rows of a tally's call, with their holds. */
class HeldRows implements HeldStates {
  readonly #tally: MemoryTally
  readonly #table: HoldTable
  readonly #holds: RowHolds[] = []
  /** A copy of a state, for `scratch`. */
  readonly #copies = new Map<number, { rule: State['rule']; readonly cells: Float64Array; readonly at: number }>()

  constructor(tally: MemoryTally, table: HoldTable) {
    this.#tally = tally
    this.#table = table
  }

  get countsDenied(): boolean {
    return this.#tally.countsDenied
  }

  load(i: number): State {
    const { rows, row } = this.#tally.asked[i]
    if (row >= 0) {
      const end = rows.at(row)
      if (rows.cells[end] < 0) rows.cells[end] = flaggedEnd(rows.cells[end])
    }
    return this.#tally.load(i)
  }

  holds(i: number): Holds {
    const { lo, hi, rule } = this.#tally.asked[i]
    let holds = this.#holds[i]
    // A call on some of the rules has them at other places.
    if (holds === undefined || holds.windowMs !== rule.windowMs) {
      holds = new RowHolds(this.#table, rule.windowMs)
      this.#holds[i] = holds
    }
    holds.lo = lo
    holds.hi = hi
    return holds
  }

  scratch(i: number): State {
    const state = this.load(i)
    const { rule, cells, at } = state
    if (rule.log !== undefined) return copyOf(state)
    let copy = this.#copies.get(rule.width)
    if (copy === undefined) {
      copy = { rule, cells: new Float64Array(rule.width), at: 0 }
      this.#copies.set(rule.width, copy)
    }
    copy.rule = rule
    for (let cell = 0; cell < rule.width; cell++) copy.cells[cell] = cells[at + cell]
    return copy
  }

  view(i: number): State {
    return this.load(i)
  }

  isKept(i: number): boolean {
    return this.#tally.isKept(i)
  }

  prepare(all: boolean, nowMs: number): void {
    this.#tally.prepare(all, nowMs)
  }

  prepared(i: number): State {
    return this.load(i)
  }

  makeRoom(i: number, nowMs: number): void {
    const location = this.#tally.asked[i]
    if (location.row >= 0 && location.rule.log !== undefined) this.#tally.fit(location, nowMs)
  }

  save(i: number, used: number): void {
    this.#tally.save(i, used)
    this.#flag(this.#tally.asked[i])
  }

  leave(i: number): void {
    this.#flag(this.#tally.asked[i])
  }

  drop(i: number): void {
    this.#tally.drop(i)
  }

  #flag({ rows, row, lo, hi, rule, pressurePerUnit }: Location): void {
    if (row < 0 || this.#table.first(lo, hi) < 0) return
    const at = rows.at(row)
    if (rows.cells[at] >= 0) rows.cells[at] = flaggedEnd(rows.cells[at])
    rows.setPressure(row, rule.limit, pressurePerUnit)
  }
}
