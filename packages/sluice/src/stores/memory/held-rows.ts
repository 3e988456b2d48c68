// The holds of a memory store. A row with holds is flagged: its end is negative. The memory store knows no more than that, so that a
// bundle without holds does not contain them.
// Invariants: a row is flagged if and only if it has holds, except while a call is decided. A flagged row is evicted as late as the
// row of a key that has used its limit. Its holds go with it.

import type { Call, Figures } from '../../core/call.ts'
import { copyOf } from '../../core/copied-states.ts'
import { endExpired, type HeldStates, heldStep } from '../../core/held-step.ts'
import { endWithHolds, type Holds, joinHolds, LoadedHolds } from '../../core/holds.ts'
import { type Rule, stateName } from '../../core/rule.ts'
import type { LogStates } from '../../core/rule-log.ts'
import type { State } from '../../core/step.ts'
import type { Store } from '../../core/store.ts'
import { HoldTable, RowHolds } from './hold-table.ts'
import { MemoryState } from './memory-store.ts'
import { type Location, MemoryTally } from './memory-tally.ts'
import { fingerprintOf, type Rows } from './rows.ts'

/** Twice as many holds as keys: keys with one hold each are evicted before there are too many holds. */
const HOLDS_A_KEY = 2

/** Number of entries that a call reads to find expired holds, when there are too many. Entries are next to each other in memory. */
const LOOK = 1024

/** The most rules that have a number. A number takes two bytes, and 0 stands for none. */
const MOST_RULES = 2 ** 16 - 1

/** Lets limiters hold units in a memory store. Other stores hold units anyway. */
export function prepareHolds<S extends Store>(store: S): S {
  if (store instanceof MemoryState) store.holds ??= new StoreHolds(store, HOLDS_A_KEY * store.maxKeys)
  return store
}

/** Returns the flagged end of a state that has holds: a negative number. Of a flagged end, it returns the end. */
export function flaggedEnd(endsAt: number): number {
  return -1 - endsAt
}

export class StoreHolds {
  readonly table: HoldTable
  readonly #state: MemoryState
  readonly #rows = new WeakMap<MemoryTally, HeldRows>()
  /** The rules that have held something, and the number of each by the name of its states. */
  readonly #rules: Rule[] = []
  readonly #numbers = new Map<string, number>()
  /** The tally of the last call, and its rows. */
  #tally: MemoryTally | undefined
  #heldRows: HeldRows | undefined

  /** At most `most` holds are open. The charges of one call may pass that. */
  constructor(state: MemoryState, most: number) {
    this.#state = state
    this.table = new HoldTable(most)
  }

  /** Returns the number of a rule, under which its holds are kept; 0 if there are too many rules. */
  numberOf(rule: Rule): number {
    const name = stateName(rule)
    const number = this.#numbers.get(name) ?? this.#numbers.size + 1
    if (number > MOST_RULES) return 0
    this.#numbers.set(name, number)
    // Rules with the same states may differ in their parameters. The last one decides, as for a call.
    this.#rules[number] = rule
    return number
  }

  /** Decides a call that opens or ends a hold, or on rows of which one is flagged. */
  ask(call: Call, tally: MemoryTally, nowMs: number): Figures {
    if (tally !== this.#tally || this.#heldRows === undefined) {
      this.#heldRows = this.#rows.get(tally) ?? new HeldRows(tally, this)
      this.#rows.set(tally, this.#heldRows)
      this.#tally = tally
    }
    if (call.operation === 'reserve' && this.table.isFull) {
      this.#endExpired(nowMs)
      // A log that was charged may have moved other rows.
      tally.find()
    }
    return heldStep(call, this.#heldRows, nowMs)
  }

  /** Ends the expired holds of one row, if a short search finds some. */
  #endExpired(nowMs: number): void {
    const entry = this.table.findExpired(nowMs, LOOK)
    const rule = entry < 0 ? undefined : this.#rules[this.table.rule(entry)]
    if (rule === undefined) return
    const tally = new MemoryTally(this.#state, [rule])
    tally.asked = tally.locations
    Object.assign(tally.locations[0], this.table.owner(entry))
    tally.find()
    endExpired(new HeldRows(tally, this), 0, nowMs)
  }

  /** True if neither a row whose end is over nor its holds are needed any more. */
  areOver(rows: Rows, row: number, nowMs: number): boolean {
    const endsAt = rows.cells[rows.at(row)]
    if (endsAt >= 0) return true
    return this.#lastsUntil(rows, row, flaggedEnd(endsAt)) <= nowMs
  }

  /** Returns the time until which a flagged row is needed, whose state ends at `endsAt`. */
  #lastsUntil(rows: Rows, row: number, endsAt: number): number {
    const open = this.#open(rows, row)
    const until = this.table.lastsUntil(open.lo, open.hi, endsAt)
    // The rule may have got a longer window or a smaller limit since the holds were opened.
    const rule = this.#rules[this.table.rule(open.first())]
    return rule === undefined ? until : Math.max(until, endWithHolds(endsAt, open, rule))
  }

  /** Returns the holds of a row, for reading. */
  #open(rows: Rows, row: number): RowHolds {
    const open = new RowHolds(this.table)
    const [lo, hi] = fingerprintOf(rows, row)
    open.lo = lo
    open.hi = hi
    return open
  }

  /** Returns the cells of a flagged row, or of its log, joined with its holds. */
  join(cells: Float64Array, rows: Rows, row: number): Float64Array {
    const copy = cells.slice()
    if (copy[0] < 0) copy[0] = flaggedEnd(copy[0])
    const joined = joinHolds(copy, LoadedHolds.of(this.#open(rows, row)), { limit: 1, windowMs: 0 })
    joined[0] = this.#lastsUntil(rows, row, copy[0])
    return joined
  }

  /** Takes over the holds of a row that was claimed, and flags the row. All of them may count until `lastsUntil`. */
  adopt(holds: Holds, rows: Rows, row: number, lastsUntil: number): void {
    const [lo, hi] = fingerprintOf(rows, row)
    for (let hold = holds.first(); hold >= 0; hold = holds.next(hold)) {
      const { id, units, expiresAt, isCharged } = holds.facts(hold)
      const entry = this.table.open(lo, hi, 0)
      this.table.setUnits(entry, id, isCharged ? units : -units)
      this.table.extend(entry, expiresAt, lastsUntil)
    }
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
  readonly #storeHolds: StoreHolds
  readonly #table: HoldTable
  /** The holds of each charge of the last call, and those of each rule. */
  readonly #holds: RowHolds[] = []
  readonly #byRule = new Map<Rule, RowHolds>()
  /** A copy of a state, for `scratch`. */
  readonly #copies = new Map<number, { rule: State['rule']; readonly cells: Float64Array; readonly at: number }>()

  constructor(tally: MemoryTally, storeHolds: StoreHolds) {
    this.#tally = tally
    this.#storeHolds = storeHolds
    this.#table = storeHolds.table
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
    return this.#tally.states.load(i)
  }

  holds(i: number): Holds {
    const { lo, hi, rule } = this.#tally.asked[i]
    let holds = this.#holds[i]
    // A call on some of the rules has them at other places.
    if (holds?.rule !== rule) {
      holds = this.#byRule.get(rule) ?? new RowHolds(this.#table, rule, this.#storeHolds.numberOf(rule))
      this.#byRule.set(rule, holds)
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
    this.#tally.states.prepare(all, nowMs)
  }

  prepared(i: number): State {
    return this.load(i)
  }

  makeRoom(i: number, nowMs: number): void {
    const { row, rule } = this.#tally.asked[i]
    if (row >= 0 && rule.log !== undefined) (this.#tally.states as LogStates).fit(i, nowMs)
  }

  save(i: number, used: number): void {
    this.#tally.states.save(i, used)
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
