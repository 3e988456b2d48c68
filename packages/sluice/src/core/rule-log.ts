// Logs: states without a fixed width, and the arena that keeps them in memory.

import type { LogBudget } from './log-budget.ts'
import type { Rule } from './rule.ts'
import type { States } from './step.ts'

/** Cells in the row of a log: the time when the state ends, and the log's handle. */
export const LOG_ROW_WIDTH = 2
export const LOG_HANDLE = 1

export type LogRule = Rule & { readonly log: RuleLog }

/**
 * The methods of a rule that keeps logs. A log is a state that grows with its entries, beyond `width` cells. It may be too long to
 * copy at once. Entries are numbered: each has the number of the entry before it plus 1, and no number is used twice.
 * The methods `used` and `waitMs` of such a rule are also correct for a state that has not been settled.
 */
export interface RuleLog {
  /**
   * Returns the number of cells that the state needs for one more `spend` or `put`, or for `spends` of them. If it has fewer, the log gets
   * coarser, and units count for longer.
   */
  widthToSpend(cells: Float64Array, at: number, spends?: number): number
  /** Copies a state into `toWidth` cells. The caller passes at least as many cells as the state needs. */
  move(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The first half of `move`: copies everything except the entries. It takes the same time for a log of any length. */
  frame(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void
  /** The second half of `move`: copies the entries from number `start` up to number `end − 1`. `frame` comes first. */
  copy(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, start: number, end: number): void
  /** Returns the number of the oldest entry. */
  first(cells: Float64Array, at: number): number
  /**
   * Returns the number of the newest entry plus 1. Only the newest entry changes. Older entries are only dropped, from either end,
   * except by a refund with `endsAt`: it changes the refunded entry and every entry after it.
   */
  end(cells: Float64Array, at: number): number
  /**
   * Returns the first number from `start` up to `end − 1` whose entry has changed since `copy` copied it; `end` if none has.
   */
  firstChanged(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, start: number, end: number): number
  /** Returns the time when the state ends; 0 if it has ended. Also correct for a state that has not been settled. */
  endsAt(cells: Float64Array, at: number, nowMs: number): number
  /** Opens the logs of a memory store. The rule does it, so that a bundle without logs does not contain their code. */
  open(host: LogHost): RowLogs
}

/** A memory store, as its logs see it. */
export interface LogHost {
  readonly budget: LogBudget
  /** The table with the rows of all logs. */
  readonly logTable: { rowsFor(hi: number): LogTableRows & { find(lo: number, hi: number): number } }
  /**
   * Drops expired logs. If there are none, evicts the rows that `choose` selects. If `isLight`, the search for victims is short, because
   * only those that have used almost nothing are wanted.
   */
  evictLogs(nowMs: number, choose: ChooseLogs, isLight: boolean): void
}

/** Pressure of a row whose key has used all of its limit: one unit more is denied. */
export const FULL = 254

/** Rows below this pressure are light: they have used almost nothing, less than a sixteenth of their limit. */
export const LIGHT = FULL / 16

/** Selects the logs to evict among the weak rows of a search, or among all of them, the weakest first. */
export type ChooseLogs = <V extends LogVictim>(weak: V[], all: V[]) => V[]

/** A row that can be evicted with its log. */
export interface LogVictim {
  /** The used share of the limit. */
  readonly pressure: number
  readonly rows: LogTableRows
  readonly row: number
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

/** The rows of a tally's call. They are the states of rules without a log. */
export interface RowStates extends States {
  /** The row of each charge. */
  readonly asked: readonly LogState[]
  /** Runs `evict`, and protects the rows of the call meanwhile. Rows may move. */
  pinned(evict: () => void): void
}

/** The states of a tally's call, of which some are logs. */
export interface LogStates extends States {
  /** Makes space for one more entry in the log of a charge, or frees space that it needs no more. */
  fit(i: number, nowMs: number): void
}

/** The logs of a memory store. */
export interface RowLogs {
  readonly arena: LogArena
  /** Returns the states of a tally some of whose rules keep logs. */
  statesOf(rows: RowStates): LogStates
}

/** The two halves of the fingerprint of the row that a log belongs to. */
export interface LogOwner {
  readonly lo: number
  readonly hi: number
}

/** The memory of all logs of a store. A handle names a log, until the log is freed or `onMove` reports its new handle. */
export interface LogArena {
  /** Bytes that the arena takes. */
  readonly bytes: number
  cells(handle: number): Float64Array
  /** Returns the index in `cells(handle)` at which the log's state begins. */
  at(handle: number): number
  /** Returns the bytes that an empty log of the rule takes. */
  smallestBytes(rule: LogRule): number
  /** Makes an empty log. Returns its handle, which is never 0. */
  allocate(rule: LogRule, owner: LogOwner): number
  /** Returns all cells of a log. `adopt` makes the same log from them. */
  block(handle: number): Float64Array
  /** Makes a log from the result of `block`. Returns its handle. */
  adopt(block: Float64Array, owner: LogOwner): number
  /** Returns the bytes of a log. While a long log moves, it takes more. */
  bytesOf(handle: number): number
  /** Returns the number of bytes that `fit` lacks. It is 0 for nearly every call. */
  lackingToFit(rule: LogRule, handle: number): number
  /**
   * Makes space for one more entry, or frees space that is not needed. Returns the log's handle, which may have changed. If the
   * budget is exhausted, the log keeps its size and gets coarser when it is full.
   */
  fit(rule: LogRule, handle: number, owner: LogOwner): number
  free(handle: number): void
}
