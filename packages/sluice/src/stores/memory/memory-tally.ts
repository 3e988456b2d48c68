// A limiter's counts in the memory store: finds a key's rows and runs the rules' definitions inside them.
// Invariant: a hit either spends on every rule or, if one denies, on none but those that count denied hits,
// and a row is made only for what will be written.

import { type Decision, decide } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { Tally } from '../../core/store.ts'
import type { LogArena, LogRule } from './log-arena.ts'
import type { MemoryRoom } from './memory-store.ts'
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
  /** Where the state is: in the row, or for a log in its block. */
  cells: Float64Array
  at: number
}

export class MemoryTally implements Tally<'sync'> {
  readonly #room: MemoryRoom
  readonly #logs: LogArena
  readonly #rules: readonly Rule[]
  readonly #places: readonly Place[]
  /** The tables of the places, each once. */
  readonly #tables: readonly Table[]
  /** Cells for looking at a state without a trace. */
  readonly #scratch: Float64Array

  constructor(room: MemoryRoom, logs: LogArena, rules: readonly Rule[]) {
    this.#room = room
    this.#logs = logs
    this.#rules = rules
    this.#places = rules.map((rule) => place(room, rule))
    this.#tables = [...new Set(this.#places.map(({ table }) => table))]
    this.#scratch = new Float64Array(Math.max(...rules.map((rule) => rule.width)) + SCRATCH_CELLS)
  }

  hit(key: string, cost: number): Decision {
    const places = this.#places
    const nowMs = this.#room.clock.now()
    this.#find(places, key)
    let allowed = true
    for (let i = 0; i < places.length; i++) {
      const { rule } = places[i]
      if (places[i].row < 0) this.#lookAtBlank(places[i])
      else this.#locate(places[i])
      const { cells, at } = places[i]
      rule.settle(cells, at, nowMs)
      if (rule.waitMs(cells, at, nowMs, cost) > 0) allowed = false
    }
    if (allowed || this.#countsDenied) this.#makeRoom(places, key, nowMs, allowed)
    const figures: number[] = []
    for (let i = 0; i < places.length; i++) {
      const place = places[i]
      const { rule } = place
      if (place.row < 0) this.#lookAtBlank(place)
      else {
        this.#locate(place)
        if (allowed || rule.countsDenied) rule.spend(place.cells, place.at, nowMs, cost)
        this.#keepEnd(place)
      }
      const { cells, at } = place
      const used = rule.used(cells, at, nowMs)
      // Asked again, because a denied hit that counts may have moved the end of the wait.
      const waitMs = allowed ? 0 : rule.waitMs(cells, at, nowMs, cost)
      figures.push(used, waitMs, cells[at] === 0 ? 0 : cells[at] - nowMs)
      if (place.row >= 0) press(place, used)
    }
    return decide(this.#rules, figures, 'store')
  }

  peek(key: string, cost: number): Decision {
    const nowMs = this.#room.clock.now()
    this.#find(this.#places, key)
    const figures: number[] = []
    for (const place of this.#places) {
      this.#view(place, nowMs)
      const { rule, cells, at } = place
      const endsAt = this.#endsAt(place, nowMs)
      figures.push(rule.used(cells, at, nowMs), rule.waitMs(cells, at, nowMs, cost), endsAt === 0 ? 0 : endsAt - nowMs)
    }
    return decide(this.#rules, figures, 'store')
  }

  inc(rule: number, key: string, cost: number): number {
    return this.#write(this.#places[rule], key, (place, nowMs) => place.rule.spend(place.cells, place.at, nowMs, cost))
  }

  set(rule: number, key: string, used: number): number {
    return this.#write(this.#places[rule], key, (place, nowMs) => place.rule.put(place.cells, place.at, nowMs, used))
  }

  get(rule: number, key: string): number {
    const place = this.#places[rule]
    const nowMs = this.#room.clock.now()
    this.#find([place], key)
    this.#view(place, nowMs)
    return place.rule.used(place.cells, place.at, nowMs)
  }

  expiresAt(rule: number, key: string): number {
    const place = this.#places[rule]
    const nowMs = this.#room.clock.now()
    this.#find([place], key)
    this.#view(place, nowMs)
    return this.#endsAt(place, nowMs)
  }

  refund(key: string, cost: number, rule?: number): number {
    const nowMs = this.#room.clock.now()
    const places = rule === undefined ? this.#places : [this.#places[rule]]
    this.#find(places, key)
    let usedOfFirst = 0
    for (const place of places) {
      if (place.row < 0) continue
      this.#locate(place)
      const { rule, cells, at } = place
      rule.settle(cells, at, nowMs)
      rule.refund(cells, at, nowMs, cost)
      const used = rule.used(cells, at, nowMs)
      press(place, used)
      this.#keepEnd(place)
      if (place === places[0]) usedOfFirst = used
    }
    return usedOfFirst
  }

  reset(key: string): void {
    for (const place of this.#places) {
      this.#find([place], key)
      if (place.row >= 0) place.table.drop(place.rows, place.row)
    }
  }

  get #countsDenied(): boolean {
    return this.#rules.some((rule) => rule.countsDenied)
  }

  /** Runs `change` in the settled state of a key, which gets a row for it unless its state stays that of a key never hit; returns units used. */
  #write(place: Place, key: string, change: (place: Place, nowMs: number) => void): number {
    const nowMs = this.#room.clock.now()
    this.#find([place], key)
    if (place.row < 0) {
      this.#lookAtBlank(place)
      change(place, nowMs)
      if (place.cells[place.at] === 0) return 0
    }
    this.#makeRoom([place], key, nowMs, true)
    this.#locate(place)
    place.rule.settle(place.cells, place.at, nowMs)
    change(place, nowMs)
    this.#keepEnd(place)
    const used = place.rule.used(place.cells, place.at, nowMs)
    press(place, used)
    return used
  }

  /** Looks up the key's rows. */
  #find(places: readonly Place[], key: string): void {
    const { keyHash } = this.#room
    this.#room.seedKeys()
    const keyHi = keyHash.hash(key)
    for (const place of places) {
      place.hi = keyHi ^ place.ruleHi
      place.lo = notEmpty(keyHash.lo ^ place.ruleLo, place.hi)
      place.rows = place.table.rowsFor(place.hi)
      place.row = place.rows.find(place.lo, place.hi)
    }
  }

  /**
   * Gets everything ready that is about to be written: the rows that the key lacks (all, or only those of rules that count
   * denied hits), and room for one more entry in its logs. Rows may move. Others may be evicted, never the key's own.
   */
  #makeRoom(places: readonly Place[], key: string, nowMs: number, all: boolean): void {
    let lacking = 0
    for (const { row, rule } of places) if (row < 0 && (all || rule.countsDenied)) lacking += 1
    if (lacking > 0) this.#claim(places, key, nowMs, all, lacking)
    for (const place of places) if (place.rule.log !== undefined && place.row >= 0) this.#fitLog(places, place, key, nowMs)
  }

  #claim(places: readonly Place[], key: string, nowMs: number, all: boolean, lacking: number): void {
    pin(places)
    const tables = places === this.#places ? this.#tables : [places[0].table]
    for (const table of tables) this.#room.makeRoom(table, lacking, nowMs)
    this.#makeLogRoom(places, lacking, nowMs)
    for (const table of tables) table.prepare(lacking, nowMs)
    this.#find(places, key)
    const epoch = this.#room.countClaims(lacking)
    for (const place of places) {
      const { table, rule, lo, hi } = place
      if (place.row >= 0 || !(all || rule.countsDenied)) continue
      const row = table.claim(lo, hi, epoch)
      const rows = table.rowsFor(hi)
      // Without an end it would count as expired while room is made for other logs.
      rows.pressure[row] = PINNED
      if (rule.log !== undefined) rows.cells[rows.at(row) + LOG_HANDLE] = this.#logs.allocate(rule as LogRule, place)
    }
    this.#find(places, key)
  }

  #makeLogRoom(places: readonly Place[], lacking: number, nowMs: number): void {
    const log = places.find(({ rule }) => rule.log !== undefined)
    if (log !== undefined) this.#room.makeLogRoom(lacking * this.#logs.smallestBytes(log.rule as LogRule), nowMs)
  }

  /** Lets a log move to a larger block where one more entry would not fit, and to a smaller one where far more would. */
  #fitLog(places: readonly Place[], place: Place, key: string, nowMs: number): void {
    const rule = place.rule as LogRule
    const bytes = this.#logs.bytesToFit(rule, handleOf(place))
    if (bytes > 0) {
      pin(places)
      this.#room.makeGrowthRoom(bytes, nowMs)
      this.#find(places, key)
    }
    const handle = this.#logs.fit(rule, handleOf(place), place)
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
      place.cells = this.#logs.cells(handle)
      place.at = this.#logs.at(handle)
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

  /** Lets the row of a log know when it ends. */
  #keepEnd({ rule, rows, row, cells, at }: Place): void {
    if (rule.log !== undefined) rows.cells[rows.at(row)] = cells[at]
  }

  /** Points `cells` at the state as it is now, to read and not to change: a settled copy, or a log as it stands, which can be read unsettled. */
  #view(place: Place, nowMs: number): void {
    if (place.row < 0) return this.#lookAtBlank(place)
    this.#locate(place)
    const { rule, cells, at } = place
    if (rule.log !== undefined) return
    for (let i = 0; i < rule.width; i++) this.#scratch[i] = cells[at + i]
    rule.settle(this.#scratch, 0, nowMs)
    place.cells = this.#scratch
    place.at = 0
  }

  /** When the state at which `cells` points ends; 0 if there is none. */
  #endsAt({ rule, cells, at }: Place, nowMs: number): number {
    return rule.log === undefined ? cells[at] : rule.log.endsAt(cells, at, nowMs)
  }
}

/** Notes which share of its limit a key has used. */
function press({ rows, row, pressurePerUnit }: Place, used: number): void {
  rows.setPressure(row, used, pressurePerUnit)
}

/** Keeps the key's own rows from being evicted, until `press` says what they have used. */
function pin(places: readonly Place[]): void {
  for (const { rows, row } of places) if (row >= 0) rows.pressure[row] = PINNED
}

function handleOf({ rows, row }: Place): number {
  return rows.cells[rows.at(row) + LOG_HANDLE]
}

function place(room: MemoryRoom, rule: Rule): Place {
  const table = room.tableFor(rule)
  const { lo: ruleLo, hi: ruleHi } = room.fingerprint(rule)
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
