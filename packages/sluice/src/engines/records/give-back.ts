// Takes a charge back that was made a moment ago, when another key of the call has denied it.
// Invariant: units that have left by themselves meanwhile are not given back again, and none is taken from units that others spent
// later. The rule's own refund sees to that, by the end of the state just after the charge.

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
  const { rule, name, key, amount, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // Nobody has changed it since: it becomes what it was, to the last cell.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const call = { operation: 'refund', charges: [{ rule: 0, key, amount, endsAt: after[0] }] } as const
  return runCall({ call, rules: [rule], names: [name] }, read, nowMs).changes
}
