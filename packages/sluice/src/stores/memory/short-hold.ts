// The contract between a hold of a short way and the short way that has reserved it and ends it.

import type { Charge } from '../../core/call.ts'
import type { Decision } from '../../core/decision.ts'
import type { Cost } from '../../core/subject.ts'
import { isWhole } from '../../core/whole-numbers.ts'

/** The terms of a hold. */
export interface ShortTerms {
  readonly id: number
  readonly ttlMs: number
  /** True if the units are charged when the hold expires, false if they are released. */
  readonly isCharged: boolean
  /** The most holds of one key. */
  readonly most: number
}

/** A hold as it was when it was opened. */
export interface ShortHold {
  readonly decision: Decision
  readonly expiresAt: number
  readonly id: number
}

export interface ShortWay<H extends ShortHold = ShortHold> {
  /** Returns the charges of a hold. Their amounts are the units that it holds. */
  chargesOf(hold: H): readonly Charge[]
  /**
   * Ends a hold, and spends `used` units; without them, all that it holds. Returns false if the hold is not where it was, if the units
   * are not valid, or if the call has to do more than this. Then nothing was changed.
   */
  end(hold: H, used: Cost | undefined): boolean
}

/** The number of an entry in the table of holds, and the fingerprint of the row that it belongs to. */
export interface HoldEntry {
  readonly lo: number
  readonly hi: number
  /** It has the id of the hold as long as the hold is open. */
  readonly entry: number
}

/** True for units that `checkCost` accepts as used. It is not a part of `checkCost`, so that a bundle without holds is smaller. */
export function areUnits(used: unknown): used is number {
  return isWhole(used, 0) && !Object.is(used, -0)
}
