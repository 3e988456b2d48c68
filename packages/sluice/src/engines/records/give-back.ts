// Undoes a charge that was made a moment ago, because another record of the call has denied the call.
// Invariant: only units of this charge that still count are given back. Units that others have spent since stay spent. The rule's
// `refund` needs the end of the state just after the charge for that.

import type { Call, HoldTerms } from '../../core/call.ts'
import { hasHolds, splitHolds } from '../../core/holds.ts'
import type { Rule } from '../../core/rule.ts'
import { type Cells, runCall, type StateChange, sameCells } from '../loaded-states.ts'

/** A charge that was made. */
export interface Charged {
  readonly rule: Rule
  /** Name of the state. */
  readonly name: string
  readonly key: string
  readonly amount: number
  /** Set if the units were held, and not spent. */
  readonly hold?: HoldTerms | undefined
  /** The state before the charge and after it. */
  readonly before: Cells
  readonly after: Float64Array
}

/** Returns the changes that undo the charge on the present state. */
export function takenBack(charged: Charged, read: (name: string) => Cells, nowMs: number): readonly StateChange[] {
  const { rule, name, key, amount, hold, before, after } = charged
  const kept = read(name)
  if (kept === undefined) return []
  // Nobody has changed the state since, so the cells before the charge are exact.
  if (sameCells(kept, after)) return [{ name, cells: before }]
  const call: Call =
    hold === undefined
      ? { operation: 'refund', charges: [{ rule: 0, key, amount, endsAt: endWithoutHolds(after) }] }
      : { operation: 'cancel', charges: [{ rule: 0, key, amount: 0 }], hold }
  return runCall({ call, rules: [rule], names: [name] }, read, nowMs).changes
}

/** The end of a state, also if it has holds. */
function endWithoutHolds(kept: Float64Array): number {
  return (hasHolds(kept) ? splitHolds(kept)?.cells[0] : undefined) ?? kept[0]
}
