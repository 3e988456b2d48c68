// Logs: states without a fixed width, and the arena that keeps them in memory.

import type { Rule } from './rule.ts'

/** Cells in the row of a log: the time when the state ends, and the log's handle. */
export const LOG_ROW_WIDTH = 2
export const LOG_HANDLE = 1

export type LogRule = Rule & { readonly log: RuleLog }

/**
 * A log: a state that is wider than `width`, and may be too long to copy at once. Each entry has a number, one more than the
 * entry before it, and numbers are never used again.
 * `used` and `waitMs` of a rule with a log are also correct for a state that has not been settled.
 */
export interface RuleLog {
  /**
   * Number of cells that the state needs for one more `spend` or `put`. In fewer cells, the log gets coarser and counts units
   * longer.
   */
  widthToSpend(cells: Float64Array, at: number): number
  /** Copies a state to `toWidth` cells (never fewer than it needs). */
  move(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The first part of `move`: copies everything except the entries. Its work does not depend on the length. */
  frame(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The second part of `move`, after `frame`: copies the entries with numbers from `start` up to, not including, `end`. */
  copy(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, start: number, end: number): void
  /** Number of the oldest entry. */
  first(cells: Float64Array, at: number): number
  /** Number of the newest entry plus 1. Entries before the newest never change; they are only dropped, from either end. */
  end(cells: Float64Array, at: number): number
  /** Time when the state ends; 0 if it has ended. Also correct for a state that has not been settled. */
  endsAt(cells: Float64Array, at: number, nowMs: number): number
  /** Opens the logs of a memory store. The rule does it, so that a bundle without logs does not contain their code. */
  open(host: LogHost): RowLogs
}

/** The bytes that logs take, and the bytes that they may take. */
export interface LogBudget {
  logs: number
  hasLogBytes(bytes: number): boolean
}

/** A memory store, as its logs see it. */
export interface LogHost {
  readonly budget: LogBudget
  /** The table with the rows of all logs. */
  readonly logTable: { rowsFor(hi: number): LogTableRows & { find(lo: number, hi: number): number } }
  /** Drops expired logs. If there are none, evicts a few logs, but with `sparesFull` none that has used all of its limit. */
  evictLogs(nowMs: number, sparesFull: boolean): void
}

interface LogTableRows {
  readonly cells: Float64Array
  /** Index in `cells` of the first cell of a row. */
  at(row: number): number
}

/** The state of one charge of the present call: a log, or the state of a rule without one. */
export interface LogState extends LogOwner {
  readonly rule: Rule
  readonly rows: LogTableRows
  /** The row; negative if the state has none. */
  readonly row: number
  /** The state itself: in the row, or for a log in its block. */
  cells: Float64Array
  at: number
}

/** The logs of a memory store. States of rules without a log are ignored, except by `locate`. */
export interface RowLogs {
  readonly arena: LogArena
  /** Makes space for the bytes of new logs, by evicting others. */
  makeSpace(states: readonly LogState[], logs: number, nowMs: number): void
  /** Makes an empty log for a row that was just claimed. */
  allocate(state: LogState): void
  /**
   * Makes space for one more entry in each log, or frees space that a log needs no more. To evict other logs it calls `pinned`,
   * which protects the rows of the call and finds them again.
   */
  fit(states: readonly LogState[], nowMs: number, pinned: (evict: () => void) => void): void
  /** Points `cells` and `at` at the log. */
  locate(state: LogState): void
}

/** The two halves of the fingerprint of the row that a log belongs to. */
export interface LogOwner {
  readonly lo: number
  readonly hi: number
}

/** Memory for many logs. A handle names one log until the log is freed or `onMove` reports its new handle. */
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
  /** Returns all cells of a log. `adopt` makes the same log of them again. */
  block(handle: number): Float64Array
  /** Makes a log of these cells; returns its handle. */
  adopt(block: Float64Array, owner: LogOwner): number
  /** Number of additional bytes that `fit` would need: 0 in nearly every call. */
  bytesToFit(rule: LogRule, handle: number): number
  /**
   * Makes space for one more entry, or frees space that is not needed. Returns the log's handle, which may have changed. If the
   * budget is exhausted, the log keeps its size and gets coarser when it is full.
   */
  fit(rule: LogRule, handle: number, owner: LogOwner): number
  free(handle: number): void
}
