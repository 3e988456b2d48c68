// A limiter's states in the memory store: finds their rows and passes them to `step`.
// Invariant: a row is claimed only for a state that will be written.

import type { Call, Charge, Figures } from '../../core/call.ts'
import { type Decision, decide } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { LogStates, RowStates } from '../../core/rule-log.ts'
import { type State, type States, step } from '../../core/step.ts'
import type { Tally } from '../../core/store.ts'
import type { MemoryState } from './memory-store.ts'
import { PINNED, pressurePerUnit, type Rows } from './rows.ts'
import type { Table } from './table.ts'

/** Location of one rule's state for the present key. The object is reused: a hit makes no object except its decision. */
export interface Location {
  readonly rule: Rule
  readonly table: Table
  /** The fingerprint of the rule. It is combined with every key's fingerprint, so that no two rules share a row. */
  readonly ruleLo: number
  readonly ruleHi: number
  readonly pressurePerUnit: number
  lo: number
  hi: number
  rows: Rows
  /** The key's row in `rows`; negative if it has none. */
  row: number
  /** The cells of the state start at `at`, if the key has a row. */
  cells: Float64Array
  at: number
}

/** A charge whose object is reused from hit to hit. */
type ReusedCharge = { -readonly [K in keyof Charge]: Charge[K] }

export class MemoryTally implements Tally<'sync'>, RowStates {
  readonly countsDenied: boolean
  readonly #state: MemoryState
  /** The rows together with their logs, if one of the rules keeps logs. */
  readonly #logs: LogStates | undefined
  readonly #rules: readonly Rule[]
  /** One for each rule. */
  readonly locations: readonly Location[]
  /** The tables of the rules, each once. */
  readonly #tables: readonly Table[]
  /** Cells for a copy of a state that is not kept. */
  readonly #scratch: Float64Array
  /** True if the row of one of the charges is flagged: it has holds. */
  #haveHolds = false
  /**
   * A hit of one key on every rule. Only the first charge has the key. The object is reused: a hit makes no object except its
   * figures and its decision.
   */
  readonly #hit: { readonly operation: 'hit'; readonly charges: readonly ReusedCharge[] }
  /** The location of each charge of the present call. */
  asked: readonly Location[] = []
  /** True if every charge has a row. */
  #isWhole = false

  constructor(state: MemoryState, rules: readonly Rule[]) {
    this.countsDenied = rules.some(({ countsDenied }) => countsDenied)
    this.#state = state
    const log = rules.find((rule) => rule.log !== undefined)?.log
    this.#logs = log && state.openLogs(log.open).statesOf(this)
    this.#rules = rules
    this.locations = rules.map((rule) => location(state, rule))
    this.#tables = tablesOf(this.locations)
    this.#scratch = new Float64Array(Math.max(...rules.map((rule) => rule.width)))
    this.#hit = { operation: 'hit', charges: rules.map((_, rule) => ({ rule, key: '', amount: 0 })) }
  }

  hit(key: string, cost: number): Decision {
    // The clock is read first. A caller's own clock could call this limiter, and would overwrite the charges.
    const nowMs = this.#state.clock.now()
    const { charges } = this.#hit
    charges[0].key = key
    if (charges[0].amount !== cost) this.#setCost(cost)
    return decide(this.#rules, this.#askAt(this.#hit, nowMs))
  }

  /** A method of its own, so that `hit` stays small and V8 can inline it. */
  #setCost(cost: number): void {
    for (const charge of this.#hit.charges) charge.amount = cost
  }

  ask(call: Call): Figures {
    return this.#askAt(call, this.#state.clock.now())
  }

  #askAt(call: Call, nowMs: number): Figures {
    const { charges } = call
    this.asked = charges.length === this.locations.length ? this.locations : charges.map(({ rule }) => this.locations[rule])
    this.#state.seedKeys()
    this.find(charges)
    const { holds } = this.#state
    const hasHolds = holds !== undefined && (call.hold !== undefined || this.#haveHolds)
    if (hasHolds) return holds.ask(call, this, nowMs)
    // Two calls, so that V8 compiles the first one together with this tally.
    return this.#logs === undefined ? step(call, this, nowMs) : step(call, this.#logs, nowMs)
  }

  /** The states for holds: those of the rows, and of their logs. */
  get states(): States {
    return this.#logs ?? this
  }

  load(i: number): Location {
    const location = this.asked[i]
    return location.row < 0 ? this.#loadEmpty(location) : location
  }

  /** Loads the state of a key that has no row, because it was never hit. Changes of the state are not kept. */
  #loadEmpty(location: Location): Location {
    location.cells = this.#scratch.fill(0)
    location.at = 0
    return location
  }

  /** Returns a settled copy. */
  view(i: number, nowMs: number): State {
    const location = this.load(i)
    if (location.row < 0) return location
    const { rule, at } = location
    const cells = this.#scratch
    for (let cell = 0; cell < rule.width; cell++) cells[cell] = location.cells[at + cell]
    rule.settle(cells, 0, nowMs)
    return { rule, cells, at: 0 }
  }

  isKept(i: number): boolean {
    return this.asked[i].row >= 0
  }

  /**
   * Claims missing rows: all, or only those of rules that count denied hits. Rows may move. Other rows may be evicted, but never
   * those of the call.
   */
  prepare(all: boolean, nowMs: number): void {
    if (!this.#isWhole) this.#claim(nowMs, all)
  }

  pinned(evict: () => void): void {
    for (const { rows, row } of this.asked) if (row >= 0) rows.pressure[row] = PINNED
    evict()
    this.find()
  }

  prepared(i: number): State {
    return this.asked[i]
  }

  save(i: number, used: number): void {
    const { rows, row, pressurePerUnit } = this.asked[i]
    if (row >= 0) rows.setPressure(row, used, pressurePerUnit)
  }

  drop(i: number): void {
    // The rows are found again, because an earlier drop may have moved this row.
    this.find()
    const { table, rows, row } = this.asked[i]
    if (row >= 0) table.drop(rows, row)
  }

  /** Finds the rows of the present call. With charges, it computes their fingerprints first. */
  find(charges?: readonly Charge[]): void {
    const { keyHash } = this.#state
    const { asked } = this
    const isOneKey = charges === this.#hit.charges
    let keyHi = 0
    let isWhole = true
    let haveHolds = false
    for (let i = 0; i < asked.length; i++) {
      const location = asked[i]
      if (charges !== undefined) {
        if (i === 0 || (!isOneKey && charges[i].key !== charges[i - 1].key)) keyHi = keyHash.hash(charges[i].key)
        location.hi = keyHi ^ location.ruleHi
        location.lo = notEmpty(keyHash.lo ^ location.ruleLo, location.hi)
      }
      const rows = location.table.rowsFor(location.hi)
      const row = rows.find(location.lo, location.hi)
      location.rows = rows
      location.row = row
      if (row < 0) {
        isWhole = false
        continue
      }
      const { cells } = rows
      const at = rows.at(row)
      location.cells = cells
      location.at = at
      if (cells[at] < 0) haveHolds = true
    }
    this.#isWhole = isWhole
    this.#haveHolds = haveHolds
  }

  #claim(nowMs: number, all: boolean): void {
    const asked = this.asked
    const lacking = asked.filter(({ row, rule }) => row < 0 && (all || rule.countsDenied)).length
    if (lacking === 0) return
    const tables = asked === this.locations ? this.#tables : tablesOf(asked)
    this.pinned(() => {
      this.#state.keepSwept(nowMs)
      for (const table of tables) this.#state.makeSpace(table, lacking, nowMs)
      for (const table of tables) table.prepare(lacking, nowMs)
    })
    for (const location of asked) {
      const { table, rule, lo, hi } = location
      if (location.row >= 0 || !(all || rule.countsDenied)) continue
      location.row = this.#state.claim(table, lo, hi)
      location.rows = table.rowsFor(hi)
      // A new row has no end yet. If it were not pinned, it would count as expired while space is made for logs.
      location.rows.pressure[location.row] = PINNED
    }
    this.find()
  }
}

/** Returns the tables of states, each once. */
function tablesOf(locations: readonly Location[]): readonly Table[] {
  return [...new Set(locations.map(({ table }) => table))]
}

function location(state: MemoryState, rule: Rule): Location {
  const table = state.tableFor(rule)
  const { lo: ruleLo, hi: ruleHi } = state.fingerprint(rule)
  const { rows } = table
  return {
    rule,
    table,
    ruleLo,
    ruleHi,
    pressurePerUnit: pressurePerUnit(rule.limit),
    lo: 0,
    hi: 0,
    rows,
    row: -1,
    cells: rows.cells,
    at: 0,
  }
}

/** Returns the lower half, changed if both halves are 0, because a fingerprint of zeros marks an empty row. */
export function notEmpty(lo: number, hi: number): number {
  return (lo | hi) === 0 ? 1 : lo
}
