// The bytes that the store's typed arrays take, and the bytes that they may take.
// Invariant: tables and logs together stay within `most`, and each of them can always have a quarter of it.

import type { LogBudget } from '../../core/rule-log.ts'

/** Bytes reserved for the free space in shared slabs: see algorithms/sliding-log/log-blocks.ts. */
const SLACK = 2 ** 20

/** The largest share of tables or logs alone. */
const SHARE = 3 / 4

export class ByteBudget implements LogBudget {
  readonly most: number
  tables = 0
  logs = 0

  constructor(most: number) {
    this.most = most
  }

  hasTableBytes(bytes: number): boolean {
    return this.tables + bytes <= this.most * SHARE && this.#has(bytes)
  }

  hasLogBytes(bytes: number): boolean {
    return this.logs + bytes <= this.most * SHARE && this.#has(bytes)
  }

  #has(bytes: number): boolean {
    return this.tables + this.logs + bytes <= this.most - SLACK
  }
}
