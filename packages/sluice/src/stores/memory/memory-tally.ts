// A limiter's counts in the memory store: finds a key's rows and runs the rules' definitions inside them.
// What must stay true: a hit either spends on every rule or, if one denies, on none but those that count denied hits,
// and a row is made only for what will be written.

import { type Decision, decide } from '../../core/decision.ts'
import type { Rule, RuleLog } from '../../core/rule.ts'
import type { Tally } from '../../core/store.ts'
import type { LogArena } from './log-arena.ts'
import type { MemoryRoom } from './memory-store.ts'
import { DENIED, pressurePerUnit, type Rows } from './rows.ts'
import { LOG_HANDLE, type Table } from './table.ts'

type LogRule = Rule & { readonly log: RuleLog }

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
  /** Cells for looking at a state without a trace. */
  #scratch: Float64Array

  constructor(room: MemoryRoom, logs: LogArena, rules: readonly Rule[]) {
    this.#room = room
    this.#logs = logs
    this.#rules = rules
    this.#places = rules.map((rule) => place(room, rule))
    this.#scratch = new Float64Array(Math.max(...rules.map((rule) => rule.width)))
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
    if (allowed || this.#countsDenied) this.#claim(places, key, nowMs, allowed)
    const figures: number[] = []
    for (let i = 0; i < places.length; i++) {
      const place = places[i]
      const { rule } = place
      if (place.row < 0) this.#lookAtBlank(place)
      else {
        this.#locate(place)
        if (allowed || rule.countsDenied) {
          this.#makeLogRoom(place)
          rule.spend(place.cells, place.at, nowMs, cost)
        }
        this.#keepEnd(place)
      }
      const { cells, at } = place
      const used = rule.used(cells, at, nowMs)
      // Asked again, because a denied hit that counts may have moved the end of the wait.
      const waitMs = allowed ? 0 : rule.waitMs(cells, at, nowMs, cost)
      figures.push(used, waitMs, cells[at] === 0 ? 0 : cells[at] - nowMs)
      if (place.row >= 0) press(place, waitMs > 0 ? rule.limit + 1 : used)
    }
    return decide(this.#rules, figures, 'store')
  }

  peek(key: string, cost: number): Decision {
    const nowMs = this.#room.clock.now()
    this.#find(this.#places, key)
    const figures: number[] = []
    for (const place of this.#places) {
      const { rule } = place
      const cells = this.#copyOf(place, nowMs)
      figures.push(rule.used(cells, 0, nowMs), rule.waitMs(cells, 0, nowMs, cost), cells[0] === 0 ? 0 : cells[0] - nowMs)
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
    return place.rule.used(this.#copyOf(place, nowMs), 0, nowMs)
  }

  expiresAt(rule: number, key: string): number {
    const place = this.#places[rule]
    this.#find([place], key)
    return this.#copyOf(place, this.#room.clock.now())[0]
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

  /** Runs `change` in the settled state of a key, which gets a row for it unless its state stays that of a key never hit; → units used. */
  #write(place: Place, key: string, change: (place: Place, nowMs: number) => void): number {
    const nowMs = this.#room.clock.now()
    this.#find([place], key)
    if (place.row < 0) {
      this.#lookAtBlank(place)
      change(place, nowMs)
      if (place.cells[place.at] === 0) return 0
      this.#claim([place], key, nowMs, true)
    }
    this.#locate(place)
    place.rule.settle(place.cells, place.at, nowMs)
    this.#makeLogRoom(place)
    change(place, nowMs)
    this.#keepEnd(place)
    const used = place.rule.used(place.cells, place.at, nowMs)
    press(place, used)
    return used
  }

  /** Looks up the key's rows. */
  #find(places: readonly Place[], key: string): void {
    const { keyHash } = this.#room
    const keyHi = keyHash.hash(key)
    for (const place of places) {
      place.hi = keyHi ^ place.ruleHi
      place.lo = notEmpty(keyHash.lo ^ place.ruleLo, place.hi)
      place.rows = place.table.rowsFor(place.hi)
      place.row = place.rows.find(place.lo, place.hi)
    }
  }

  /** Makes the rows that the key lacks: all, or only those of rules that count denied hits. Rows may move. */
  #claim(places: readonly Place[], key: string, nowMs: number, all: boolean): void {
    const lacks = ({ row, rule }: Place): boolean => row < 0 && (all || rule.countsDenied)
    if (!places.some(lacks)) return
    do {
      // The rows that the key has are not the ones to go for those it lacks.
      for (const { rows, row } of places) if (row >= 0) rows.pressure[row] = DENIED
      this.#room.makeRoom(places.filter(lacks).length, nowMs)
      this.#find(places, key)
    } while (!this.#room.hasRoom(places.filter(lacks).length))
    for (const { table } of places) table.prepare(places.length)
    this.#find(places, key)
    for (const place of places.filter(lacks)) {
      const row = place.table.claim(place.lo, place.hi)
      if (place.rule.log === undefined) continue
      const rows = place.table.rowsFor(place.hi)
      rows.cells[rows.at(row) + LOG_HANDLE] = this.#logs.allocate(place.rule as LogRule, 0)
    }
    this.#find(places, key)
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
    place.cells = this.#blank(place.rule)
    place.at = 0
  }

  #blank({ width, log }: Rule): Float64Array {
    this.#scratch.fill(0)
    if (log !== undefined) {
      const needed = log.widthToSpend(this.#scratch, 0)
      if (this.#scratch.length < needed) this.#scratch = new Float64Array(needed)
      log.move(this.#scratch, 0, this.#scratch, 0, Math.max(width, needed))
    }
    return this.#scratch
  }

  /** Moves a log to a larger block where one more entry would not fit. */
  #makeLogRoom(place: Place): void {
    if (place.rule.log === undefined) return
    const handleAt = place.rows.at(place.row) + LOG_HANDLE
    place.rows.cells[handleAt] = this.#logs.grow(place.rule as LogRule, place.rows.cells[handleAt])
    this.#locate(place)
  }

  /** Lets the row of a log know when it ends. */
  #keepEnd({ rule, rows, row, cells, at }: Place): void {
    if (rule.log !== undefined) rows.cells[rows.at(row)] = cells[at]
  }

  /** The settled state of a key, in cells of its own from 0 on. */
  #copyOf(place: Place, nowMs: number): Float64Array {
    const { rule } = place
    if (place.row < 0) return this.#blank(rule)
    this.#locate(place)
    const { cells, at } = place
    if (rule.log === undefined) {
      for (let i = 0; i < rule.width; i++) this.#scratch[i] = cells[at + i]
    } else {
      const width = rule.log.widthToSpend(cells, at)
      if (this.#scratch.length < width) this.#scratch = new Float64Array(width)
      rule.log.move(cells, at, this.#scratch, 0, width)
    }
    rule.settle(this.#scratch, 0, nowMs)
    return this.#scratch
  }
}

/** Notes how hard a key presses on its limit; above the limit, it is being denied. */
function press({ rows, row, rule, pressurePerUnit }: Place, used: number): void {
  rows.pressure[row] = used > rule.limit ? DENIED : used * pressurePerUnit
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
