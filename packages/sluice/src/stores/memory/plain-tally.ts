// The tally of the most common case: one rule without a log. It decides a hit in fewer steps than the general tally.
// Invariant: it decides as the general tally does.

import type { TimerClock } from '../../core/clock.ts'
import { type Decision, SingleDecision } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import type { KeyHash } from './key-hash.ts'
import type { MemoryState } from './memory-store.ts'
import { type Location, MemoryTally } from './memory-tally.ts'
import type { Rows } from './rows.ts'

export class PlainTally extends MemoryTally {
  readonly #state: MemoryState
  readonly #clock: TimerClock
  readonly #keyHash: KeyHash
  readonly #location: Location

  constructor(state: MemoryState, rules: readonly Rule[]) {
    super(state, rules)
    this.#state = state
    this.#clock = state.clock
    this.#keyHash = state.keyHash
    this.#location = this.locations[0]
  }

  // V8 inlines at most 920 bytes of bytecode into one function. This method, that of the limiter, and all that they call have about
  // 890 bytes without the hash. So they can be compiled as one function. What is rare is in methods of its own.
  override hit(key: string, cost: number): Decision {
    const { rule, table, ruleLo, ruleHi, pressurePerUnit } = this.#location
    const keyHash = this.#keyHash
    const nowMs = this.#clock.now()
    const hi = keyHash.hash(key) ^ ruleHi
    let lo = keyHash.lo ^ ruleLo
    if ((lo | hi) === 0) lo = 1 // As `notEmpty` does.
    const rows = table.rowsFor(hi)
    const row = rows.find(lo, hi)
    if (row < 0) return this.#hitNew(key, cost, lo, hi, nowMs)
    const { cells } = rows
    const at = rows.at(row)
    if (cells[at] < 0) return super.hit(key, cost)
    const waitMs = rule.take(cells, at, nowMs, cost)
    if (waitMs > 0) return this.#deny(rows, row, nowMs, waitMs)
    const { limit } = rule
    const used = rule.used(cells, at, nowMs)
    rows.press(row, used, cost, pressurePerUnit)
    return new SingleDecision(true, limit, limit - used, 0, cells[at] - nowMs, rule.name)
  }

  /** Decides a hit that was denied. Its state may be empty. */
  #deny(rows: Rows, row: number, nowMs: number, waitMs: number): Decision {
    const { rule, pressurePerUnit } = this.#location
    const { limit } = rule
    const { cells } = rows
    const at = rows.at(row)
    const used = rule.used(cells, at, nowMs)
    const endsAt = cells[at]
    rows.setPressure(row, used, pressurePerUnit)
    return new SingleDecision(false, limit, Math.max(0, limit - used), waitMs, endsAt === 0 ? 0 : endsAt - nowMs, rule.name)
  }

  /**
   * Decides a hit on a key without a row. It claims a row, except if the state stays empty: the cost is above the limit, and denied
   * hits do not count. It is a method of its own, so that `hit` stays small and V8 can inline it.
   */
  #hitNew(key: string, cost: number, lo: number, hi: number, nowMs: number): Decision {
    const { rule, table } = this.#location
    const { limit, countsDenied } = rule
    if (cost > limit && !countsDenied) return super.hit(key, cost)
    if (this.#keyHash.seed !== undefined) {
      this.#state.keepSwept(nowMs)
      this.#state.makeSpace(table, 1, nowMs)
      table.prepare(1, nowMs)
      this.#state.claim(table, lo, hi)
    } else {
      this.#state.seedKeys()
    }
    return this.hit(key, cost)
  }
}
