// Counts of holds, for metrics.

/** Events in the life of a hold. A settle is counted under one of three events, by what was used of what was held. */
export const HOLD_EVENTS = ['opened', 'refused', 'settled', 'settled_under', 'settled_over', 'cancelled', 'expired'] as const
export type HoldEvent = (typeof HOLD_EVENTS)[number]

/** The events that end a hold. */
export const HOLD_ENDS = ['settled', 'settled_under', 'settled_over', 'cancelled', 'expired'] as const
export type HoldEnd = (typeof HOLD_ENDS)[number]

export class HoldCounts {
  readonly #counts = new Float64Array(HOLD_EVENTS.length)

  add(event: HoldEvent): void {
    this.#counts[HOLD_EVENTS.indexOf(event)] += 1
  }

  of(event: HoldEvent): number {
    return this.#counts[HOLD_EVENTS.indexOf(event)]
  }
}

type Units = Readonly<Record<string, number>>

/** Returns how a settle compares with its hold. One rule that used more than it held makes it `settled_over`. */
export function settleEvent(granted: Units, used: Units): HoldEnd {
  const differences = Object.keys(granted).map((rule) => used[rule] - granted[rule])
  if (differences.some((difference) => difference > 0)) return 'settled_over'
  return differences.some((difference) => difference < 0) ? 'settled_under' : 'settled'
}
