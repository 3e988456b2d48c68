// The short way of holds on one rule without a log. It makes no call and no figures.
// Invariant: it decides as `heldStep` does, or leaves the call to it and changes nothing.

import type { Charge } from '../../core/call.ts'
import { SingleDecision } from '../../core/decision.ts'
import { lastsUntil } from '../../core/holds.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import type { Cost } from '../../core/subject.ts'
import { flaggedEnd, type StoreHolds } from './held-rows.ts'
import type { HoldTable } from './hold-table.ts'
import { MemoryState } from './memory-store.ts'
import { notEmpty } from './memory-tally.ts'
import { pressurePerUnit } from './rows.ts'
import { areUnits, type HoldEntry, type ShortHold, type ShortTerms, type ShortWay } from './short-hold.ts'
import type { Table } from './table.ts'

/** The terms of a hold on one rule. */
export interface PlainTerms extends ShortTerms {
  readonly units: number
}

/** A hold of one row. */
export interface RowHold extends ShortHold, HoldEntry {
  readonly key: string
  readonly units: number
}

/** Returns the short way for holds of these rules; undefined if they or the store have none. */
export function plainHolds(store: Store, rules: readonly Rule[]): PlainHolds | undefined {
  const isPlain = rules.length === 1 && rules[0].log === undefined
  return isPlain && store instanceof MemoryState && store.holds !== undefined
    ? new PlainHolds(store, rules[0], store.holds)
    : undefined
}

export class PlainHolds implements ShortWay<RowHold> {
  readonly #state: MemoryState
  readonly #holds: HoldTable
  readonly #rule: Rule
  readonly #ruleNumber: number
  readonly #isHeld: boolean
  readonly #table: Table
  readonly #ruleLo: number
  readonly #ruleHi: number
  readonly #pressurePerUnit: number
  /** A copy of a state, for calculations. */
  readonly #copy: Float64Array

  constructor(state: MemoryState, rule: Rule, holds: StoreHolds) {
    this.#state = state
    this.#holds = holds.table
    this.#ruleNumber = holds.numberOf(rule)
    this.#rule = rule
    this.#isHeld = rule.isHeld === true
    this.#table = state.tableFor(rule)
    const { lo, hi } = state.fingerprint(rule)
    this.#ruleLo = lo
    this.#ruleHi = hi
    this.#pressurePerUnit = pressurePerUnit(rule.limit)
    this.#copy = new Float64Array(rule.width)
  }

  /** Reserves units of a key. Returns undefined if the call is not allowed, or has to do more than this. */
  reserve(key: string, { id, units, ttlMs, isCharged, most }: PlainTerms): RowHold | undefined {
    const rule = this.#rule
    const holds = this.#holds
    const { limit } = rule
    const { clock, keyHash } = this.#state
    if (units > limit || holds.isFull || keyHash.seed === undefined) return undefined
    const nowMs = clock.now()
    const hi = keyHash.hash(key) ^ this.#ruleHi
    const lo = notEmpty(keyHash.lo ^ this.#ruleLo, hi)
    let rows = this.#table.rowsFor(hi)
    let row = rows.find(lo, hi)
    if (row < 0) {
      row = this.#claim(lo, hi, nowMs)
      rows = this.#table.rowsFor(hi)
    }
    const { cells } = rows
    const at = rows.at(row)
    const isFlagged = cells[at] < 0
    let held = 0
    if (isFlagged) {
      held = holds.openUnits(lo, hi, nowMs, most)
      if (held < 0) return undefined
      cells[at] = flaggedEnd(cells[at])
    }
    rule.settle(cells, at, nowMs)
    const isHeld = this.#isHeld
    const copy = this.#copy
    for (let cell = 0; cell < copy.length; cell++) copy[cell] = cells[at + cell]
    if (held > 0) rule.spend(copy, 0, nowMs, held)
    const allowed = isHeld ? held + units <= limit : rule.waitMs(copy, 0, nowMs, units) === 0
    if (!allowed) {
      if (isFlagged) cells[at] = flaggedEnd(cells[at])
      return undefined
    }
    rule.spend(copy, 0, nowMs, units)
    cells[at] = flaggedEnd(cells[at])
    rows.setPressure(row, limit, this.#pressurePerUnit)
    const expiresAt = nowMs + ttlMs
    const endsAt = isHeld ? Math.max(expiresAt, isFlagged ? holds.lastEnd(lo, hi) : 0) : copy[0]
    const isChargedAtEnd = isCharged && !isHeld
    const entry = holds.open(lo, hi, this.#ruleNumber)
    holds.setUnits(entry, id, isChargedAtEnd ? units : -units)
    holds.extend(entry, expiresAt, lastsUntil(expiresAt, isChargedAtEnd, rule.windowMs))
    const used = isHeld ? held + units : rule.used(copy, 0, nowMs)
    const remaining = used > limit ? 0 : limit - used
    const decision = new SingleDecision(true, limit, remaining, 0, endsAt === 0 ? 0 : endsAt - nowMs, rule.name)
    return { decision, key, units, expiresAt, lo, hi, entry, id }
  }

  chargesOf({ key, units }: RowHold): readonly Charge[] {
    return [{ rule: 0, key, amount: units, least: units }]
  }

  end(hold: RowHold, used: Cost | undefined): boolean {
    // Units by rule are read by the long way.
    if (used !== undefined && !areUnits(used)) return false
    const nowMs = this.#state.clock.now()
    if (!this.canEnd(hold, hold.id, nowMs)) return false
    this.endAt(hold, used, nowMs)
    return true
  }

  /** True if a hold is where it was, and no hold of its row has expired. A hold that has expired is charged first. */
  canEnd({ lo, hi, entry }: HoldEntry, id: number, nowMs: number): boolean {
    const holds = this.#holds
    if (!holds.isAt(entry, id) || holds.expiresAt(entry) <= nowMs) return false
    return holds.isOnly(entry) || !holds.hasExpired(lo, hi, nowMs)
  }

  /** Ends a hold for which `canEnd` is true, and spends `used` units; without them, all that it holds. */
  endAt({ lo, hi, entry }: HoldEntry, used: number | undefined, nowMs: number): void {
    const rule = this.#rule
    const holds = this.#holds
    const isOnly = holds.isOnly(entry)
    const rows = this.#table.rowsFor(hi)
    const row = rows.find(lo, hi)
    const { cells } = rows
    const at = rows.at(row)
    cells[at] = flaggedEnd(cells[at])
    rule.settle(cells, at, nowMs)
    const units = used ?? Math.abs(holds.units(entry))
    if (units > 0) rule.spend(cells, at, nowMs, units)
    holds.drop(entry)
    if (isOnly || holds.first(lo, hi) < 0) rows.setPressure(row, rule.used(cells, at, nowMs), this.#pressurePerUnit)
    else cells[at] = flaggedEnd(cells[at])
  }

  /** Claims a row for a key without one. */
  #claim(lo: number, hi: number, nowMs: number): number {
    const state = this.#state
    state.keepSwept(nowMs)
    state.makeSpace(this.#table, 1, nowMs)
    this.#table.prepare(1, nowMs)
    return state.claim(this.#table, lo, hi)
  }
}
