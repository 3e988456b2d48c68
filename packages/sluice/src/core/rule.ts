// A rule: an algorithm with its numbers, and the whole definition of what it does to a key's state.
// What must stay true: a rule is pure. It reads no clock, keeps nothing between calls, and touches only the cells it is given.

import { SluiceError, show } from './errors.ts'

/**
 * One key's state under one rule is `width` numbers in `cells`, from index `at` on, so that a store can run a rule
 * inside its own memory, or load the numbers, run the rule and write them back.
 *
 * - Cell 0 is always when the state ends, in ms since the epoch: from then on the key is as if it had never been hit.
 * - All zeros is the state of a key that has never been hit.
 * - `settle` brings the state to `nowMs` and comes before every other method, with the same `nowMs`. It charges nothing:
 *   it drops what has passed and, where the clock has stepped back, moves the state to where it would be had it been written now.
 */
export interface Rule {
  /** Which algorithm: states of different algorithms never meet, even under one name. */
  readonly algorithm: string
  /** Names the rule in decisions and headers; with the algorithm, it is what a key's state is kept under. */
  readonly name: string
  /** The quota: the most that a fresh key can spend at once. */
  readonly limit: number
  /** How long a key takes from all spent to all there again (the second window of a sliding window not counted). */
  readonly windowMs: number
  /** Whether hits that are denied count too. */
  readonly countsDenied: boolean
  /** How many cells a key's state takes. For a rule that keeps a log, how many an empty log takes. */
  readonly width: number
  /** The highest count that `spend` can reach and `put` takes: above it, sums would pass 2^53. */
  readonly mostUsed: number
  /** Arguments of the rule's translations, such as the Lua program beside it, by name. Two rules that share algorithm and parameters decide alike. */
  readonly parameters: RuleParameters
  /** Only for a rule that keeps a log per key. */
  readonly log?: RuleLog

  settle(cells: Float64Array, at: number, nowMs: number): void
  /** All of a hit on this rule alone: `settle`, `waitMs`, and `spend` if it fits or denied hits count; → how long until it fits. */
  take(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** How long until `cost` fits: 0 if it fits now, Infinity if it never will. */
  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Spends `cost` without asking whether it fits. */
  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void
  /** Units used now, rounded up: limit − used can really be spent at once. */
  used(cells: Float64Array, at: number, nowMs: number): number
  /** Puts the count at `used`, counting from now. */
  put(cells: Float64Array, at: number, nowMs: number, used: number): void
  /** Gives `cost` units back, never above full. */
  refund(cells: Float64Array, at: number, nowMs: number, cost: number): void
}

export type RuleParameters = Readonly<Record<string, number | boolean>>

/** `take` put together from its parts, for rules that have nothing to gain from writing it out. */
export function takeByParts(rule: Rule, cells: Float64Array, at: number, nowMs: number, cost: number): number {
  rule.settle(cells, at, nowMs)
  const waitMs = rule.waitMs(cells, at, nowMs, cost)
  if (waitMs > 0 && !rule.countsDenied) return waitMs
  rule.spend(cells, at, nowMs, cost)
  // A denied hit that counts may have moved the end of the wait.
  return waitMs === 0 ? 0 : rule.waitMs(cells, at, nowMs, cost)
}

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
  /** When the state ends, 0 if it has ended; also of a state that has not been settled. */
  endsAt(cells: Float64Array, at: number, nowMs: number): number
}

/** What every rule can be told besides its numbers. */
export interface RuleOptions {
  /**
   * What the rule is called in decisions, headers and metrics. A key's usage is kept under the name: a named rule keeps
   * it when its numbers change. Default: the algorithm with its numbers, such as `fixed-window:100/1m`.
   */
  readonly name?: string
}

export function ruleName(name: unknown, otherwise: string): string {
  if (name === undefined) return otherwise
  if (typeof name !== 'string' || name.length === 0 || name.length > 256) {
    throw new SluiceError('ERR_RULE', `a rule's name must be a string of 1 to 256 characters, got ${show(name)}`, {
      option: 'name',
      value: name,
    })
  }
  return name
}
