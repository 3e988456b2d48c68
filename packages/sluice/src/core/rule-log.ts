// Logs: states without a fixed width, and the place that keeps them in memory.

import type { Rule } from './rule.ts'

export type LogRule = Rule & { readonly log: RuleLog }

/**
 * A log: state that is wider than `width`, and may be too long to copy at once. Its entries are numbered one by one, for ever.
 * `used` and `waitMs` of a rule with a log also answer for a state that has not been settled.
 */
export interface RuleLog {
  /** Cells that the state needs so that one more `spend` or `put` fits. In fewer cells, the log becomes coarser and counts units longer. */
  widthToSpend(cells: Float64Array, at: number): number
  /** Copies a state to a place of `toWidth` cells (never fewer than it needs). */
  move(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The part of `move` that does not depend on the length: all but the entries. */
  frame(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The other part of `move`, between places that have been framed: the entries numbered from `start` up to, not including, `end`. */
  copy(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, start: number, end: number): void
  /** Number of the oldest entry. */
  first(cells: Float64Array, at: number): number
  /** The number after that of the newest entry. Entries before the newest change only by being dropped, from either end. */
  end(cells: Float64Array, at: number): number
  /** Time when the state ends, 0 if it has ended; also of a state that has not been settled. */
  endsAt(cells: Float64Array, at: number, nowMs: number): number
  /** Makes a place for the logs of a store in memory. The rule brings it, so that only those who use logs carry its code. */
  makeArena(budget: LogBudget, onMove: (owner: LogOwner, handle: number) => void): LogArena
}

/** The bytes that logs take and may take. */
export interface LogBudget {
  logs: number
  hasLogBytes(bytes: number): boolean
}

/** The two halves of the fingerprint of the row that a log belongs to. */
export interface LogOwner {
  readonly lo: number
  readonly hi: number
}

/** A place for many logs. A handle names one log until the log is freed or `onMove` gives it another one. */
export interface LogArena {
  /** Bytes that it takes. */
  readonly bytes: number
  cells(handle: number): Float64Array
  /** Index in `cells` where a log's state begins. */
  at(handle: number): number
  /** Bytes of the smallest log of a rule. */
  smallestBytes(rule: LogRule): number
  /** Makes an empty log; returns its handle, which is never 0. */
  allocate(rule: LogRule, owner: LogOwner): number
  /** All cells of a log, which `adopt` makes the same log of again. */
  block(handle: number): Float64Array
  /** Makes a log of these cells; returns its handle. */
  adopt(block: Float64Array, owner: LogOwner): number
  /** Bytes that `fit` would need more than there are now: 0 in nearly every call. */
  bytesToFit(rule: LogRule, handle: number): number
  /**
   * Makes space for one more entry, or gives back space that is not needed. Returns the log's handle from now on. Where the budget
   * has no bytes for it the log stays as it is, and becomes coarser if it is full.
   */
  fit(rule: LogRule, handle: number, owner: LogOwner): number
  free(handle: number): void
}
