// Whether the store answers, as far as the decisions tell.

import type { FailureEvent } from 'sluice'
import { DURATION_BOUNDS, Histogram } from '../stats/histogram.ts'

export class StoreHealth {
  /** Whether the last that was heard of the store was an answer. */
  isUp = true
  /** Whether the store is not even asked at the moment, because it failed too often. */
  isBreakerOpen = false
  /** How often it failed, by reason. */
  readonly failures = new Map<string, number>()
  /** How long it took to answer, in seconds; nothing is measured of a memory store, whose answer is part of the check. */
  readonly hitSeconds = new Histogram(DURATION_BOUNDS)

  answered(seconds: number): void {
    this.hitSeconds.observe(seconds)
    this.isUp = true
    this.isBreakerOpen = false
  }

  /** Somebody else asked it. */
  heard(isUp: boolean): void {
    this.isUp = isUp
  }

  failed({ reason }: FailureEvent): void {
    // A fatal answer is an answer, and may be about one counter alone. The reader of the records hears of one that is about all.
    if (reason !== 'fatal') this.isUp = false
    if (reason === 'not-asked') this.isBreakerOpen = true
    else this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1)
  }
}
