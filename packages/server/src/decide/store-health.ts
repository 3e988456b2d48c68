// Health of the store, derived from its answers.

import type { FailureEvent } from 'sluice'
import { DURATION_BOUNDS, Histogram } from '../stats/histogram.ts'

export class StoreHealth {
  /** True if the last call got an answer. */
  isUp = true
  /** True while the store is not called because it failed too often. */
  isBreakerOpen = false
  /** Number of failures by reason. */
  readonly failures = new Map<string, number>()
  /** Response times in seconds. Not measured for a memory store, which answers synchronously. */
  readonly hitSeconds = new Histogram(DURATION_BOUNDS)

  answered(seconds: number): void {
    this.hitSeconds.observe(seconds)
    this.isUp = true
    this.isBreakerOpen = false
  }

  /** Reports the result of a call made elsewhere. */
  report(isUp: boolean): void {
    this.isUp = isUp
  }

  failed({ reason }: FailureEvent): void {
    // A fatal reply is still an answer and may concern one counter only. If it concerns all, polling the records fails too and reports it.
    if (reason !== 'fatal') this.isUp = false
    if (reason === 'not-asked') this.isBreakerOpen = true
    else this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1)
  }
}
