// Takes back a charge that was made a moment ago, because another key of the call has denied it.
// Invariant: units that no longer count are not given back, and no units are given back in a window that began after the charge.

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

/** Returns the changes that take the charge back from the present state. */
export function takenBack(charged: Charged, read: (name: string) => Cells, nowMs: number): readonly StateChange[] {
  const { rule, name, key, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // The state has not changed since, so the old cells are restored exactly.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const amount = unitsLeft(charged, nowMs)
  if (amount === 0) return []
  return runCall(
    { call: { operation: 'refund', charges: [{ rule: 0, key, amount }] }, rules: [rule], names: [name] },
    read,
    nowMs,
  ).changes
}

/** Returns the units of the charge that the rule still counts: the difference between both states at `nowMs`. */
export function unitsLeft({ rule, amount, before, after }: Charged, nowMs: number): number {
  const settled = settledCopy(rule, after, nowMs)
  // A cell that has grown means that another window has begun. A refund would change that window. This does not hold for logs.
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
