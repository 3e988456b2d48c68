// A limiter's states in the memory store: finds their rows and hands them to the step.
// Invariant: a row is claimed only for a state that will be written.

import type { Call, Charge, Figures } from '../../core/call.ts'
import { type Decision, decide } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { LogArena, LogRule } from '../../core/rule-log.ts'
import { type State, type States, step } from '../../core/step.ts'
import type { Tally } from '../../core/store.ts'
import type { MemoryState } from './memory-store.ts'
import { PINNED, pressurePerUnit, type Rows } from './rows.ts'
import { LOG_HANDLE, type Table } from './table.ts'

/** Entries of the scratch log. A call on a key without a row spends once. */
const SCRATCH_CELLS = 8

/** One rule's state of the key at hand. Kept and reused from hit to hit: a hit makes no object but its decision. */
interface Place {
  readonly rule: Rule
  readonly table: Table
  /** The rule's own fingerprint, mixed into every key's: no two rules share a row. */
  readonly ruleLo: number
  readonly ruleHi: number
  readonly pressurePerUnit: number
  lo: number
  hi: number
  rows: Rows
  /** The key's row in `rows`; negative if it has none. */
  row: number
  /** Place of the state: in the row, or for a log in its block. */
  cells: Float64Array
  at: number
}

/** A charge that is used again from hit to hit. */
type ReusedCharge = { -readonly [K in keyof Charge]: Charge[K] }

export class MemoryTally implements Tally<'sync'>, States {
  readonly countsDenied: boolean
  readonly #state: MemoryState
  /** There if one of the rules keeps logs. */
  readonly #logs: LogArena | undefined
  readonly #rules: readonly Rule[]
  /** One for each rule. */
  readonly #places: readonly Place[]
  /** The tables of the places, each once. */
  readonly #tables: readonly Table[]
  /** Cells for reading a state without a trace. */
  readonly #scratch: Float64Array
  /** A hit on every rule, used again each time: a hit makes no object but its figures and its decision. */
  readonly #hit: { readonly operation: 'hit'; readonly charges: readonly ReusedCharge[] }
  /** The call at hand, and the place of each of its charges. */
  #charges: readonly Charge[] = []
  #asked: readonly Place[] = []
  /** True if every charge has its row. */
  #isWhole = false

  constructor(state: MemoryState, rules: readonly Rule[]) {
    this.countsDenied = rules.some(({ countsDenied }) => countsDenied)
    this.#state = state
    const log = rules.find((rule) => rule.log !== undefined)
    this.#logs = log && state.logsOf(log as LogRule)
    this.#rules = rules
    this.#places = rules.map((rule) => place(state, rule))
    this.#tables = [...new Set(this.#places.map(({ table }) => table))]
    this.#scratch = new Float64Array(Math.max(...rules.map((rule) => rule.width)) + SCRATCH_CELLS)
    this.#hit = { operation: 'hit', charges: rules.map((_, rule) => ({ rule, key: '', amount: 0 })) }
  }

  hit(key: string, cost: number): Decision {
    // Before the charges are written: a clock that calls this limiter writes them too.
    const nowMs = this.#state.clock.now()
    const { charges } = this.#hit
    for (let i = 0; i < charges.length; i++) {
      charges[i].key = key
      charges[i].amount = cost
    }
    return decide(this.#rules, this.#askAt(this.#hit, nowMs))
  }

  ask(call: Call): Figures {
    return this.#askAt(call, this.#state.clock.now())
  }

  #askAt(call: Call, nowMs: number): Figures {
    const { charges } = call
    this.#charges = charges
    this.#asked = charges.length === this.#places.length ? this.#places : charges.map(({ rule }) => this.#places[rule])
    this.#find()
    return step(call, this, nowMs)
  }

  load(i: number): State {
    const place = this.#asked[i]
    if (place.row < 0) this.#lookAtBlank(place)
    else this.#locate(place)
    return place
  }

  /** A settled copy, or a log as it stands. */
  view(i: number, nowMs: number): State {
    const place = this.#asked[i]
    if (place.row < 0) this.#lookAtBlank(place)
    else this.#locate(place)
    const { rule, cells, at, row } = place
    if (row < 0 || rule.log !== undefined) return place
    for (let cell = 0; cell < rule.width; cell++) this.#scratch[cell] = cells[at + cell]
    rule.settle(this.#scratch, 0, nowMs)
    place.cells = this.#scratch
    place.at = 0
    return place
  }

  isKept(i: number): boolean {
    return this.#asked[i].row >= 0
  }

  /**
   * Claims the rows that the keys lack (all, or only those of rules that count denied hits), and space for one more entry in
   * their logs. Rows may move. Others may be evicted, never those of the call.
   */
  prepare(all: boolean, nowMs: number): void {
    if (this.#isWhole && this.#logs === undefined) return
    let lacking = 0
    for (const { row, rule } of this.#asked) if (row < 0 && (all || rule.countsDenied)) lacking += 1
    if (lacking > 0) this.#claim(nowMs, all, lacking)
    if (this.#logs !== undefined)
      for (const place of this.#asked) if (place.rule.log !== undefined && place.row >= 0) this.#fitLog(place, nowMs)
    if (lacking > 0 || this.#logs !== undefined) for (const place of this.#asked) if (place.row >= 0) this.#locate(place)
  }

  prepared(i: number): State {
    return this.#asked[i]
  }

  save(i: number, used: number): void {
    const { rule, rows, row, cells, at, pressurePerUnit } = this.#asked[i]
    if (row < 0) return
    // The row of a log keeps when the log ends.
    if (rule.log !== undefined) rows.cells[rows.at(row)] = cells[at]
    rows.setPressure(row, used, pressurePerUnit)
  }

  drop(i: number): void {
    // Found again: a row that was dropped before may have moved this one.
    this.#find()
    const { table, rows, row } = this.#asked[i]
    if (row >= 0) table.drop(rows, row)
  }

  /** Asked for only where a rule keeps logs. */
  get #arena(): LogArena {
    return this.#logs as LogArena
  }

  /** Finds the rows of the call at hand. */
  #find(): void {
    const { keyHash } = this.#state
    const charges = this.#charges
    this.#state.seedKeys()
    let keyHi = 0
    this.#isWhole = true
    for (let i = 0; i < charges.length; i++) {
      const place = this.#asked[i]
      const { key } = charges[i]
      if (i === 0 || key !== charges[i - 1].key) keyHi = keyHash.hash(key)
      place.hi = keyHi ^ place.ruleHi
      place.lo = notEmpty(keyHash.lo ^ place.ruleLo, place.hi)
      place.rows = place.table.rowsFor(place.hi)
      place.row = place.rows.find(place.lo, place.hi)
      if (place.row < 0) this.#isWhole = false
    }
  }

  #claim(nowMs: number, all: boolean, lacking: number): void {
    const asked = this.#asked
    pin(asked)
    const tables = asked === this.#places ? this.#tables : [...new Set(asked.map(({ table }) => table))]
    for (const table of tables) this.#state.makeRoom(table, lacking, nowMs)
    this.#makeLogRoom(lacking, nowMs)
    for (const table of tables) table.prepare(lacking, nowMs)
    this.#find()
    const epoch = this.#state.countClaims(lacking)
    for (const place of asked) {
      const { table, rule, lo, hi } = place
      if (place.row >= 0 || !(all || rule.countsDenied)) continue
      const row = table.claim(lo, hi, epoch)
      const rows = table.rowsFor(hi)
      // Without an end it would count as expired while space is made for other logs.
      rows.pressure[row] = PINNED
      if (rule.log !== undefined) rows.cells[rows.at(row) + LOG_HANDLE] = this.#arena.allocate(rule as LogRule, place)
    }
    this.#find()
  }

  #makeLogRoom(lacking: number, nowMs: number): void {
    const log = this.#asked.find(({ rule }) => rule.log !== undefined)
    if (log !== undefined) this.#state.makeLogRoom(lacking * this.#arena.smallestBytes(log.rule as LogRule), nowMs)
  }

  /** Lets a log move to a larger block where one more entry would not fit, and to a smaller one where far more would. */
  #fitLog(place: Place, nowMs: number): void {
    const rule = place.rule as LogRule
    const bytes = this.#arena.bytesToFit(rule, handleOf(place))
    if (bytes > 0) {
      pin(this.#asked)
      this.#state.makeGrowthRoom(bytes, nowMs)
      this.#find()
    }
    const handle = this.#arena.fit(rule, handleOf(place), place)
    place.rows.cells[place.rows.at(place.row) + LOG_HANDLE] = handle
  }

  /** Points `cells` at the state: in the row, or for a log in its block. */
  #locate(place: Place): void {
    const { rows, row } = place
    const rowAt = rows.at(row)
    if (place.rule.log === undefined) {
      place.cells = rows.cells
      place.at = rowAt
    } else {
      const handle = rows.cells[rowAt + LOG_HANDLE]
      place.cells = this.#arena.cells(handle)
      place.at = this.#arena.at(handle)
    }
  }

  /** Points `cells` at the state of a key never hit, which may be changed and is thrown away. */
  #lookAtBlank(place: Place): void {
    const { width, log } = place.rule
    const scratch = this.#scratch
    scratch.fill(0)
    log?.frame(scratch, 0, scratch, 0, width + SCRATCH_CELLS)
    place.cells = scratch
    place.at = 0
  }
}

/** Keeps the key's own rows from being evicted, until `press` says what they have used. */
function pin(places: readonly Place[]): void {
  for (const { rows, row } of places) if (row >= 0) rows.pressure[row] = PINNED
}

function handleOf({ rows, row }: Place): number {
  return rows.cells[rows.at(row) + LOG_HANDLE]
}

function place(state: MemoryState, rule: Rule): Place {
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

/** A fingerprint of all zeros would mark an empty row. */
export function notEmpty(lo: number, hi: number): number {
  return (lo | hi) === 0 ? 1 : lo
}
