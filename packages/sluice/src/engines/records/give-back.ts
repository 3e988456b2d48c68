// Takes back a charge that was made a moment ago, because another key of the call has denied it.
// Invariant: units that no longer count are not given back, and no units are taken from others that were spent later. The rule's own
// refund does so, by the end of the state just after the charge.

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
  const { rule, name, key, amount, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // The state has not changed since, so the old cells are restored exactly.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const call = { operation: 'refund', charges: [{ rule: 0, key, amount, endsAt: after[0] }] } as const
  return runCall({ call, rules: [rule], names: [name] }, read, nowMs).changes
}
