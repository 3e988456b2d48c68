// The short way of holds on several rules without logs: some of them are held, and the others are charged. It makes no call.
// Invariant: it decides as `heldStep` does, or leaves the call to it and changes nothing.

import { type Charge, FIGURES } from '../../core/call.ts'
import { decide } from '../../core/decision.ts'
import { lastsUntil } from '../../core/holds.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import type { Cost } from '../../core/subject.ts'
import { flaggedEnd, type StoreHolds } from './held-rows.ts'
import { MemoryState } from './memory-store.ts'
import { notEmpty } from './memory-tally.ts'
import { PlainHolds } from './plain-holds.ts'
import { pressurePerUnit, type Rows } from './rows.ts'
import { areUnits, type HoldEntry, type ShortHold, type ShortTerms, type ShortWay } from './short-hold.ts'
import type { Table } from './table.ts'

/** The terms of a hold on several rules. */
export interface JointTerms extends ShortTerms {
  /** Units of each rule; negative if they are not held, and are charged at once. */
  readonly units: readonly number[]
}

/** The units that a hold has on one rule. */
interface HeldPart extends HoldEntry {
  /** Index of the rule. */
  readonly rule: number
  readonly units: number
}

/** The key of each rule, or one for all. */
export type Keys = string | readonly string[]

export interface JointHold extends ShortHold {
  readonly keys: Keys
  readonly parts: readonly HeldPart[]
}

/** The row of one rule in the present call. The object is reused. */
interface RuleRow {
  readonly rule: Rule
  readonly number: number
  readonly table: Table
  readonly ruleLo: number
  readonly ruleHi: number
  readonly pressurePerUnit: number
  /** The state as if its held units were spent. */
  readonly copy: Float64Array
  lo: number
  hi: number
  rows: Rows
  row: number
  at: number
  /** Units that the row holds. */
  held: number
  isFlagged: boolean
}

/** Returns the short way for holds of these rules; undefined if they or the store have none. */
export function jointHolds(store: Store, rules: readonly Rule[]): JointHolds | undefined {
  const areShort = rules.length > 1 && rules.every(({ log }) => log === undefined)
  return areShort && store instanceof MemoryState && store.holds !== undefined
    ? new JointHolds(store, rules, store.holds)
    : undefined
}

export class JointHolds implements ShortWay<JointHold> {
  readonly #state: MemoryState
  readonly #storeHolds: StoreHolds
  readonly #rules: readonly Rule[]
  readonly #ruleRows: readonly RuleRow[]
  /** The short way of each rule alone, which ends its part of a hold. */
  readonly #alone: readonly PlainHolds[]

  constructor(state: MemoryState, rules: readonly Rule[], storeHolds: StoreHolds) {
    this.#state = state
    this.#storeHolds = storeHolds
    this.#rules = rules
    this.#ruleRows = rules.map((rule) => ruleRowOf(state, rule, storeHolds.numberOf(rule)))
    this.#alone = rules.map((rule) => new PlainHolds(state, rule, storeHolds))
  }

  /**
   * Decides over all rules. Returns undefined if the call is not allowed, or has to do more than this: a key without a row, for example,
   * may need space.
   */
  reserve(keys: Keys, terms: JointTerms): JointHold | undefined {
    const { id, units, ttlMs } = terms
    const { clock, keyHash } = this.#state
    if (this.#storeHolds.table.isFull || keyHash.seed === undefined) return undefined
    const nowMs = clock.now()
    if (!this.#find(keys, terms, nowMs) || !this.#fit(terms, nowMs)) return undefined
    const figures = new Array<number>(this.#ruleRows.length * FIGURES)
    const parts: HeldPart[] = []
    for (let i = 0; i < this.#ruleRows.length; i++) {
      const endsAt = units[i] > 0 ? this.#hold(i, terms, nowMs, parts) : this.#spend(i, -units[i], nowMs)
      const { rule, copy, held } = this.#ruleRows[i]
      figures[i * FIGURES] = rule.isHeld ? held + units[i] : rule.used(copy, 0, nowMs)
      figures[i * FIGURES + 1] = 0
      figures[i * FIGURES + 2] = endsAt === 0 ? 0 : endsAt - nowMs
    }
    return { decision: decide(this.#rules, figures), expiresAt: nowMs + ttlMs, id, keys, parts }
  }

  chargesOf({ keys, parts }: JointHold): readonly Charge[] {
    return parts.map(({ rule, units }) => ({ rule, key: keyOf(keys, rule), amount: units, least: units }))
  }

  end({ parts, id }: JointHold, used: Cost | undefined): boolean {
    const isByRule = typeof used === 'object'
    if (used !== undefined && !isByRule && !areUnits(used)) return false
    const units = isByRule ? this.#unitsByPart(parts, used) : used
    if (units === null) return false
    const nowMs = this.#state.clock.now()
    for (const part of parts) if (!this.#alone[part.rule].canEnd(part, id, nowMs)) return false
    for (let i = 0; i < parts.length; i++) {
      this.#alone[parts[i].rule].endAt(parts[i], typeof units === 'object' ? units[i] : units, nowMs)
    }
    return true
  }

  /** Returns the units of each part, undefined for all that it holds; null unless the units are plain and name parts alone. */
  #unitsByPart(parts: readonly HeldPart[], used: Readonly<Record<string, number>> | null): (number | undefined)[] | null {
    if (used === null || Object.getPrototypeOf(used) !== Object.prototype) return null
    let unread = Object.keys(used).length
    const units: (number | undefined)[] = []
    for (const { rule } of parts) {
      const { name } = this.#rules[rule]
      const isNamed = Object.hasOwn(used, name)
      const amount = isNamed ? used[name] : undefined
      if (isNamed && !areUnits(amount)) return null
      if (isNamed) unread -= 1
      units.push(amount)
    }
    return unread === 0 ? units : null
  }

  /** Finds the rows of a call. Returns false if one is missing, has an expired hold, or has too many holds. */
  #find(keys: Keys, { units, most }: JointTerms, nowMs: number): boolean {
    const { keyHash } = this.#state
    let keyHi = 0
    let last = ''
    for (let i = 0; i < this.#ruleRows.length; i++) {
      const ruleRow = this.#ruleRows[i]
      const key = keyOf(keys, i)
      if (key !== last) keyHi = keyHash.hash(key)
      last = key
      ruleRow.hi = keyHi ^ ruleRow.ruleHi
      ruleRow.lo = notEmpty(keyHash.lo ^ ruleRow.ruleLo, ruleRow.hi)
      ruleRow.rows = ruleRow.table.rowsFor(ruleRow.hi)
      ruleRow.row = ruleRow.rows.find(ruleRow.lo, ruleRow.hi)
      if (ruleRow.row < 0) return false
      ruleRow.at = ruleRow.rows.at(ruleRow.row)
      ruleRow.isFlagged = ruleRow.rows.cells[ruleRow.at] < 0
      const mostOf = units[i] > 0 ? most : Number.POSITIVE_INFINITY
      ruleRow.held = ruleRow.isFlagged ? this.#storeHolds.table.openUnits(ruleRow.lo, ruleRow.hi, nowMs, mostOf) : 0
      if (ruleRow.held < 0) return false
    }
    return true
  }

  /** Settles every state, and takes its flag away. If one does not let the call pass, flags them again and returns false. */
  #fit({ units }: JointTerms, nowMs: number): boolean {
    for (let i = 0; i < this.#ruleRows.length; i++) {
      const { rule, rows, at, copy, held, isFlagged } = this.#ruleRows[i]
      const { cells } = rows
      if (isFlagged) cells[at] = flaggedEnd(cells[at])
      rule.settle(cells, at, nowMs)
      copyState(this.#ruleRows[i], nowMs)
      if (rule.isHeld ? held + units[i] <= rule.limit : rule.waitMs(copy, 0, nowMs, Math.abs(units[i])) === 0) continue
      for (let j = 0; j <= i; j++) flag(this.#ruleRows[j])
      return false
    }
    return true
  }

  /** Holds units of a rule. Returns the end of its state. */
  #hold(i: number, { id, units, ttlMs, isCharged }: JointTerms, nowMs: number, parts: HeldPart[]): number {
    const { table } = this.#storeHolds
    const ruleRow = this.#ruleRows[i]
    const { rule, lo, hi, copy } = ruleRow
    const expiresAt = nowMs + ttlMs
    const isChargedAtEnd = isCharged && !rule.isHeld
    const entry = table.open(lo, hi, ruleRow.number)
    table.setUnits(entry, id, isChargedAtEnd ? units[i] : -units[i])
    table.extend(entry, expiresAt, lastsUntil(expiresAt, isChargedAtEnd, rule.windowMs))
    parts.push({ rule: i, units: units[i], lo, hi, entry })
    rule.spend(copy, 0, nowMs, units[i])
    ruleRow.isFlagged = true
    flag(ruleRow)
    return rule.isHeld ? table.lastEnd(lo, hi) : copy[0]
  }

  /** Charges units of a rule. Returns the end of its state. */
  #spend(i: number, units: number, nowMs: number): number {
    const ruleRow = this.#ruleRows[i]
    const { rule, rows, row, at, copy } = ruleRow
    rule.spend(rows.cells, at, nowMs, units)
    copyState(ruleRow, nowMs)
    if (!ruleRow.isFlagged) rows.setPressure(row, rule.used(copy, 0, nowMs), ruleRow.pressurePerUnit)
    flag(ruleRow)
    return copy[0]
  }
}

function keyOf(keys: Keys, rule: number): string {
  return typeof keys === 'string' ? keys : keys[rule]
}

/** Copies a state, and spends its held units in the copy. */
function copyState({ rule, rows, at, copy, held }: RuleRow, nowMs: number): void {
  const { cells } = rows
  for (let cell = 0; cell < copy.length; cell++) copy[cell] = cells[at + cell]
  if (held > 0) rule.spend(copy, 0, nowMs, held)
}

/** Flags the row of a state with holds, and sets its pressure. */
function flag({ rule, rows, row, at, isFlagged, pressurePerUnit }: RuleRow): void {
  if (!isFlagged) return
  rows.cells[at] = flaggedEnd(rows.cells[at])
  rows.setPressure(row, rule.limit, pressurePerUnit)
}

function ruleRowOf(state: MemoryState, rule: Rule, number: number): RuleRow {
  const table = state.tableFor(rule)
  const { lo: ruleLo, hi: ruleHi } = state.fingerprint(rule)
  const ofRule = { rule, number, table, ruleLo, ruleHi, pressurePerUnit: pressurePerUnit(rule.limit) }
  const ofCall = { lo: 0, hi: 0, rows: table.rows, row: -1, at: 0, held: 0, isFlagged: false }
  return { ...ofRule, copy: new Float64Array(rule.width), ...ofCall }
}
