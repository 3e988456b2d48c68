// A limiter's states in the memory store: finds their rows and passes them to `step`.
// Invariant: a row is claimed only for a state that will be written.

import type { Call, Charge, Figures } from '../../core/call.ts'
import { type Decision, decide } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { LogRule, RowLogs } from '../../core/rule-log.ts'
import { type State, type States, step } from '../../core/step.ts'
import type { Tally } from '../../core/store.ts'
import type { MemoryState } from './memory-store.ts'
import { PINNED, pressurePerUnit, type Rows } from './rows.ts'
import type { Table } from './table.ts'

/** Cells for entries in the scratch log. Few are enough, because a call on a key without a row spends once. */
const SCRATCH_CELLS = 8

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
  /** The cells of the state start at `at`: in the row, or for a log in its block. */
  cells: Float64Array
  at: number
}

/** A charge whose object is reused from hit to hit. */
type ReusedCharge = { -readonly [K in keyof Charge]: Charge[K] }

export class MemoryTally implements Tally<'sync'>, States {
  readonly countsDenied: boolean
  readonly #state: MemoryState
  /** Set if one of the rules keeps logs. */
  readonly #logs: RowLogs | undefined
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
    const log = rules.find((rule) => rule.log !== undefined)
    this.#logs = log && state.openLogs((log as LogRule).log.open)
    this.#rules = rules
    this.locations = rules.map((rule) => location(state, rule))
    this.#tables = tablesOf(this.locations)
    this.#scratch = new Float64Array(Math.max(...rules.map((rule) => rule.width)) + SCRATCH_CELLS)
    this.#hit = { operation: 'hit', charges: rules.map((_, rule) => ({ rule, key: '', amount: 0 })) }
  }

  hit(key: string, cost: number): Decision {
    // The clock is read first. A caller's own clock could call this limiter, and would overwrite the charges.
    const nowMs = this.#state.clock.now()
    const { charges } = this.#hit
    charges[0].key = key
    if (charges[0].amount !== cost) for (const charge of charges) charge.amount = cost
    return decide(this.#rules, this.#askAt(this.#hit, nowMs))
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
    return hasHolds ? holds.ask(call, this, nowMs) : step(call, this, nowMs)
  }

  load(i: number): Location {
    const location = this.asked[i]
    if (location.row < 0) this.#lookAtBlank(location)
    else this.#locate(location)
    return location
  }

  /** Returns a settled copy, or a log itself. */
  view(i: number, nowMs: number): State {
    const location = this.load(i)
    const { rule, cells, at, row } = location
    if (row < 0 || rule.log !== undefined) return location
    for (let cell = 0; cell < rule.width; cell++) this.#scratch[cell] = cells[at + cell]
    rule.settle(this.#scratch, 0, nowMs)
    location.cells = this.#scratch
    location.at = 0
    return location
  }

  isKept(i: number): boolean {
    return this.asked[i].row >= 0
  }

  /** Makes space in a log for one more entry. */
  fit(location: Location, nowMs: number): void {
    this.#logs?.fit([location], nowMs, this.#pinned)
  }

  /**
   * Claims missing rows (all, or only those of rules that count denied hits), and space for one more entry in logs. Rows may
   * move. Other rows may be evicted, but never those of the call.
   */
  prepare(all: boolean, nowMs: number): void {
    if (this.#isWhole && this.#logs === undefined) return
    let lacking = 0
    for (const { row, rule } of this.asked) if (row < 0 && (all || rule.countsDenied)) lacking += 1
    if (lacking > 0) this.#claim(nowMs, all, lacking)
    this.#logs?.fit(this.asked, nowMs, this.#pinned)
    for (const location of this.asked) if (location.row >= 0) this.#locate(location)
  }

  /** Runs `evict`, and protects the rows of the call meanwhile. One function for all calls, so that a hit makes no object. */
  readonly #pinned = (evict: () => void): void => {
    pin(this.asked)
    evict()
    this.find()
  }

  prepared(i: number): State {
    return this.asked[i]
  }

  save(i: number, used: number): void {
    const { rule, rows, row, cells, at, pressurePerUnit } = this.asked[i]
    if (row < 0) return
    // The row of a log also holds the end of the log.
    if (rule.log !== undefined) rows.cells[rows.at(row)] = cells[at]
    rows.setPressure(row, used, pressurePerUnit)
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
    const isOneKey = charges === this.#hit.charges
    let keyHi = 0
    this.#isWhole = true
    this.#haveHolds = false
    for (let i = 0; i < this.asked.length; i++) {
      const location = this.asked[i]
      if (charges !== undefined) {
        if (i === 0 || (!isOneKey && charges[i].key !== charges[i - 1].key)) keyHi = keyHash.hash(charges[i].key)
        location.hi = keyHi ^ location.ruleHi
        location.lo = notEmpty(keyHash.lo ^ location.ruleLo, location.hi)
      }
      location.rows = location.table.rowsFor(location.hi)
      location.row = location.rows.find(location.lo, location.hi)
      if (location.row < 0) this.#isWhole = false
      else if (location.rows.cells[location.rows.at(location.row)] < 0) this.#haveHolds = true
    }
  }

  #claim(nowMs: number, all: boolean, lacking: number): void {
    const asked = this.asked
    pin(asked)
    const tables = asked === this.locations ? this.#tables : tablesOf(asked)
    this.#state.keepSwept(nowMs)
    for (const table of tables) this.#state.makeSpace(table, lacking, nowMs)
    this.#logs?.makeSpace(asked, lacking, nowMs)
    for (const table of tables) table.prepare(lacking, nowMs)
    this.find()
    for (const location of asked) {
      const { table, rule, lo, hi } = location
      if (location.row >= 0 || !(all || rule.countsDenied)) continue
      location.row = this.#state.claim(table, lo, hi)
      location.rows = table.rowsFor(hi)
      // A new row has no end yet. If it were not pinned, it would count as expired while space is made for other logs.
      location.rows.pressure[location.row] = PINNED
      this.#logs?.allocate(location)
    }
    this.find()
  }

  /** Points `cells` at the state: in the row, or for a log in its block. */
  #locate(location: Location): void {
    const { rows, row } = location
    if (location.rule.log !== undefined) return this.#logs?.locate(location)
    location.cells = rows.cells
    location.at = rows.at(row)
  }

  /** Points `cells` at the state of a key that was never hit, in scratch memory. Changes of it are not kept. */
  #lookAtBlank(location: Location): void {
    const { width, log } = location.rule
    const scratch = this.#scratch
    scratch.fill(0)
    log?.frame(scratch, 0, scratch, 0, width + SCRATCH_CELLS)
    location.cells = scratch
    location.at = 0
  }
}

/** Returns the tables of states, each once. */
function tablesOf(locations: readonly Location[]): readonly Table[] {
  return [...new Set(locations.map(({ table }) => table))]
}

/** Protects the call's own rows from eviction, until `save` writes their pressure. */
function pin(locations: readonly Location[]): void {
  for (const { rows, row } of locations) if (row >= 0) rows.pressure[row] = PINNED
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
