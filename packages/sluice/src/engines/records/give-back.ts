// Undoes a charge that was made a moment ago, because another record of the call has denied the call.
// Invariant: only units of this charge that still count are given back. Units that others have spent since stay spent. The rule's
// `refund` needs the end of the state just after the charge for that.

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

/** Returns the changes that undo the charge on the present state. */
export function takenBack(charged: Charged, read: (name: string) => Cells, nowMs: number): readonly StateChange[] {
  const { rule, name, key, amount, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // Nobody has changed the state since, so the cells before the charge are exact.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const call = { operation: 'refund', charges: [{ rule: 0, key, amount, endsAt: after[0] }] } as const
  return runCall({ call, rules: [rule], names: [name] }, read, nowMs).changes
}
