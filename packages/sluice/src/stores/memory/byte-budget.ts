// The bytes that the store's typed arrays take, and that they may take.
// Invariant: tables and logs together stay within `most`, and neither can starve the other: each is sure of a quarter.

import type { LogBudget } from '../../core/rule-log.ts'

/** Shared slabs are never quite full: see algorithms/sliding-log/log-blocks.ts. So much is kept for the empty parts of them. */
const SLACK = 2 ** 20

/** The share that tables or logs alone may take. */
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
