// Takes a charge back that was made a moment ago, when another key of the call has denied it.
// Invariant: units that have left by themselves meanwhile are not given back again, and none is taken from a window that began after
// the charge.

import type { Rule } from '../../core/rule.ts'
import { type Cells, runCall, type StateChange, sameCells } from '../loaded-states.ts'

/** A charge that was made. */
export interface Charged {
  readonly rule: Rule
  /** Name of the state. */
  readonly name: string
  readonly key: string
  readonly amount: number
  /** The state before the charge and after it. */
  readonly before: Cells
  readonly after: Float64Array
}

/** The changes that take the charge back from the state as it is now. */
export function takenBack(charged: Charged, read: (name: string) => Cells, nowMs: number): readonly StateChange[] {
  const { rule, name, key, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // Nobody has changed it since: it becomes what it was, to the last cell.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const amount = unitsLeft(charged, nowMs)
  if (amount === 0) return []
  return runCall(
    { call: { operation: 'refund', charges: [{ rule: 0, key, amount }] }, rules: [rule], names: [name] },
    read,
    nowMs,
  ).changes
}

/** Units of the charge that the rule still counts: the difference that it makes now. */
export function unitsLeft({ rule, amount, before, after }: Charged, nowMs: number): number {
  const settled = settledCopy(rule, after, nowMs)
  // A cell that has grown says that the rule went on to another window: a refund would take from that one. A log has none.
  if (rule.log === undefined && settled.some((cell, i) => cell > after[i])) return 0
  const usedWithout = before === undefined ? 0 : rule.used(settledCopy(rule, before, nowMs), 0, nowMs)
  return Math.min(amount, Math.max(0, rule.used(settled, 0, nowMs) - usedWithout))
}

function settledCopy(rule: Rule, cells: Float64Array, nowMs: number): Float64Array {
  const copy = new Float64Array(rule.log === undefined ? cells.length : rule.log.widthToSpend(cells, 0))
  if (rule.log === undefined) copy.set(cells)
  else rule.log.move(cells, 0, copy, 0, copy.length)
  rule.settle(copy, 0, nowMs)
  return copy
}
