// Statistics of one policy, or of all policies together.
// Invariant: every check is counted under exactly one reason, in the second in which it was decided.

import { HoldCounts } from './hold-counts.ts'
import { COLUMNS, type Column, HOUR_SECONDS, HourRing, SecondRing } from './second-ring.ts'

/** The reason for the outcome of a check. The numbers index the arrays below. */
export const REASON = {
  /** Within the limit. */
  within: 0,
  /** The policy is off. */
  off: 1,
  /** Over the limit, in shadow mode. */
  shadow: 2,
  /** Over the limit. */
  limit: 3,
  /** The cost is above the limit. */
  cost: 4,
  /** The store failed, and there is no fallback. */
  store: 5,
  /** The store failed, and the fallback allows everything. */
  fallbackAllow: 6,
  /** The store failed, and the fallback denies everything. */
  fallbackDeny: 7,
  /** The policy denies everything: its mode is `deny`, or it has a rule of limit 0. */
  block: 8,
} as const
export type Reason = (typeof REASON)[keyof typeof REASON]

/** Names in metrics and events, in the order of REASON. The outcome tells the two fallbacks apart. */
export const REASON_NAMES = ['within', 'off', 'shadow', 'limit', 'cost', 'store', 'fallback', 'fallback', 'block'] as const
export const OUTCOMES = ['allow', 'allow', 'allow', 'deny', 'deny', 'error', 'allow', 'deny', 'deny'] as const
const COLUMN_OF = [0, 0, 2, 1, 1, 3, 0, 1, 1] as const

export class PolicyStats {
  /** The policy's name. */
  readonly name: string
  readonly ring = new SecondRing()
  readonly hours = new HourRing()
  readonly byReason = new Float64Array(REASON_NAMES.length)
  readonly holds = new HoldCounts()
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

  /** Returns the checks since the start, by column. */
  totals(): Record<Column, number> {
    const totals = { allowed: 0, denied: 0, shadow_denied: 0, errors: 0 }
    this.byReason.forEach((count, reason) => {
      totals[COLUMNS[COLUMN_OF[reason]]] += count
    })
    return totals
  }

  count(second: number, reason: Reason, times = 1): void {
    this.byReason[reason] += times
    this.ring.add(second, COLUMN_OF[reason], times)
    this.hours.add(Math.floor(second / HOUR_SECONDS), COLUMN_OF[reason], times)
  }
}
