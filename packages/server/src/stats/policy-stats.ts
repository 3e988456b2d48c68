// Statistics of one policy, or of all policies together.
// Invariant: every check is counted under exactly one reason, in the second in which it was decided.

import { SecondRing } from './second-ring.ts'

/** The reason for the outcome of a check. The numbers index the arrays below. */
export const REASON = { within: 0, off: 1, shadow: 2, limit: 3, cost: 4, store: 5 } as const
export type Reason = (typeof REASON)[keyof typeof REASON]

/** In the order of REASON: within the limit; policy off; over the limit in shadow mode; over the limit; cost above the limit; no store. */
export const REASON_NAMES = ['within', 'off', 'shadow', 'limit', 'cost', 'store'] as const
export const OUTCOMES = ['allow', 'allow', 'allow', 'deny', 'deny', 'error'] as const
const COLUMN_OF = [0, 0, 2, 1, 1, 3] as const

export class PolicyStats {
  /** The policy's name. */
  readonly name: string
  readonly ring = new SecondRing()
  readonly byReason = new Float64Array(REASON_NAMES.length)
  /** Allowed checks that left a fifth of the limit or less. */
  nearLimit = 0
  /** False once another policy has taken this place. Holders then call `statsOf` again. */
  isCurrent = true

  /** Start of these statistics, in seconds since the epoch. */
  readonly #startSecond: number

  constructor(name: string, startSecond: number) {
    this.name = name
    this.#startSecond = startSecond
  }

  /** The last second with activity. Creation counts as activity, so that new statistics are not dropped before their first check. */
  get latest(): number {
    return Math.max(this.ring.latest, this.#startSecond)
  }

  count(second: number, reason: Reason): void {
    this.byReason[reason] += 1
    this.ring.add(second, COLUMN_OF[reason])
  }
}
