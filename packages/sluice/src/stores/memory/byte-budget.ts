// The bytes that the store's typed arrays take, and the bytes that they may take.
// Invariant: tables and logs together stay within `most`, and each of them can always have a quarter of it.

import type { LogBudget } from '../../core/rule-log.ts'

/** Bytes reserved for the free space in shared slabs: see algorithms/sliding-log/log-blocks.ts. */
const SLACK = 2 ** 20

/** The largest share of tables or logs alone. */
const SHARE = 3 / 4

/** Share of the logs' bytes that long logs leave free, so that new keys get a log without an eviction. */
const FREE_OF_LONG = 1 / 8

export class ByteBudget implements LogBudget {
  readonly most: number
  tables = 0
  logs = 0

  constructor(most: number) {
    this.most = most
  }

  hasTableBytes(bytes: number): boolean {
    return this.tables + bytes <= Math.min(this.most * SHARE, this.most - SLACK - this.logs)
  }

  hasLogBytes(bytes: number): boolean {
    return this.lackingLogBytes(bytes) === 0
  }

  lackingLogBytes(bytes: number, isLong = false): number {
    const most = this.most * SHARE
    const logs = this.logs + bytes + (isLong ? most * FREE_OF_LONG : 0)
    return Math.max(0, logs - most, this.tables + logs - (this.most - SLACK))
  }
}
