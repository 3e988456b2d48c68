// The bytes that the store's typed arrays take, and the bytes that they may take.
// Invariant: tables and logs together stay within the bytes of the store, and each of them can always have a quarter of it.

import type { LogBudget } from '../../core/log-budget.ts'

/** Bytes reserved for the free space in shared slabs: see algorithms/sliding-log/log-blocks.ts. */
const SLACK = 2 ** 20

/** The largest share of tables or logs alone. */
const SHARE = 3 / 4

export class ByteBudget implements LogBudget {
  readonly mostOfOne: number
  readonly mostOfBoth: number
  tables = 0
  logs = 0

  constructor(most: number) {
    this.mostOfOne = most * SHARE
    this.mostOfBoth = most - SLACK
  }

  hasTableBytes(bytes: number): boolean {
    return this.tables + bytes <= Math.min(this.mostOfOne, this.mostOfBoth - this.logs)
  }
}
