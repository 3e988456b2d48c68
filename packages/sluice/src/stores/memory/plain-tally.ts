// The tally of the most common case: one rule without a log. It decides a hit in fewer steps than the general tally.
// Invariant: it decides as the general tally does.

import type { TimerClock } from '../../core/clock.ts'
import { type Decision, SingleDecision } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { KeyHash } from './key-hash.ts'
import type { MemoryState } from './memory-store.ts'
import { MemoryTally, notEmpty } from './memory-tally.ts'
import { pressurePerUnit } from './rows.ts'
import type { Table } from './table.ts'

export class PlainTally extends MemoryTally {
  readonly #state: MemoryState
  readonly #clock: TimerClock
  readonly #keyHash: KeyHash
  readonly #table: Table
  readonly #rule: Rule
  readonly #ruleLo: number
  readonly #ruleHi: number
  readonly #pressurePerUnit: number

  constructor(state: MemoryState, rules: readonly Rule[]) {
    super(state, rules)
    this.#state = state
    this.#clock = state.clock
    this.#keyHash = state.keyHash
    this.#rule = rules[0]
    this.#table = state.tableFor(this.#rule)
    const { lo, hi } = state.fingerprint(this.#rule)
    this.#ruleLo = lo
    this.#ruleHi = hi
    this.#pressurePerUnit = pressurePerUnit(this.#rule.limit)
  }

  override hit(key: string, cost: number): Decision {
    const rule = this.#rule
    const { limit } = rule
    const table = this.#table
    const keyHash = this.#keyHash
    const nowMs = this.#clock.now()
    const hi = keyHash.hash(key) ^ this.#ruleHi
    const lo = notEmpty(keyHash.lo ^ this.#ruleLo, hi)
    const rows = table.rowsFor(hi)
    const row = rows.find(lo, hi)
    if (row < 0) return this.#hitNew(key, cost, lo, hi, nowMs)
    const { cells } = rows
    const at = rows.at(row)
    if (cells[at] < 0) return super.hit(key, cost)
    const waitMs = rule.take(cells, at, nowMs, cost)
    const used = rule.used(cells, at, nowMs)
    const endsAt = cells[at]
    if (waitMs === 0) rows.press(row, used, cost, this.#pressurePerUnit)
    else rows.setPressure(row, used, this.#pressurePerUnit)
    return new SingleDecision(
      waitMs === 0,
      limit,
      used > limit ? 0 : limit - used,
      waitMs,
      endsAt === 0 ? 0 : endsAt - nowMs,
      rule.name,
    )
  }

  /**
   * Decides a hit on a key without a row. It claims a row, except if the state stays empty: the cost is above the limit, and denied
   * hits do not count. It is a method of its own, so that `hit` stays small and V8 can inline it.
   */
  #hitNew(key: string, cost: number, lo: number, hi: number, nowMs: number): Decision {
    const { limit, countsDenied } = this.#rule
    if (cost > limit && !countsDenied) return super.hit(key, cost)
    if (this.#keyHash.isSeeded) {
      this.#state.keepSwept(nowMs)
      this.#state.makeSpace(this.#table, 1, nowMs)
      this.#table.prepare(1, nowMs)
      this.#state.claim(this.#table, lo, hi)
    } else {
      this.#state.seedKeys()
    }
    return this.hit(key, cost)
  }
}
