// A rule: an algorithm with its numbers, and the whole definition of what it does to a key's state.
// Invariant: a rule is pure. It reads no clock, keeps nothing between calls, and touches only the cells it is given.

import { SluiceError, show } from './errors.ts'
import type { RuleLog } from './rule-log.ts'

/**
 * One key's state under one rule is `width` numbers in `cells`, from index `at` on, so that a store can run a rule
 * inside its own memory, or load the numbers, run the rule and write them back.
 *
 * - Cell 0 is always when the state ends, in ms since the epoch: from then on the key is as if it had never been hit.
 * - All zeros is the state of a key that has never been hit.
 * - `settle` brings the state to `nowMs` and comes before every other method, with the same `nowMs`. It charges nothing:
 *   it drops what has passed and, where the clock has stepped back, moves the state to where it would be had it been written now.
 */
export interface Rule<P extends Per = Per> {
  /** Name of the algorithm. States of different algorithms never meet, even under one name. */
  readonly algorithm: string
  /** Names the rule in decisions and headers; with the algorithm, it is what a key's state is kept under. */
  readonly name: string
  /** Names of the subject's keys that the rule counts by, sorted; undefined for a rule that counts by the subject itself. */
  readonly per: P
  /** The quota: the largest cost that a fresh key can spend at once. */
  readonly limit: number
  /** Time that a key takes from all spent to all free again (without the second window of a sliding window). */
  readonly windowMs: number
  /** True if denied hits count too. */
  readonly countsDenied: boolean
  /** Number of cells of a key's state; for a rule that keeps a log, of an empty log. */
  readonly width: number
  /** The highest count that `spend` can reach and `put` takes: above it, sums would pass 2^53. */
  readonly mostUsed: number
  /** Arguments of the rule's translations, such as the Lua program beside it, by name. Two rules that share algorithm and parameters decide alike. */
  readonly parameters: RuleParameters
  /** Only for a rule that keeps a log per key. */
  readonly log?: RuleLog

  settle(cells: Float64Array, at: number, nowMs: number): void
  /** A whole hit on this rule alone: `settle`, `waitMs`, and `spend` if the cost fits or denied hits count. Returns the time until the cost fits. */
  take(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Time until `cost` fits: 0 if it fits now, Infinity if it never will. */
  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Spends `cost` without asking whether it fits. */
  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void
  /** Units used now, rounded up: limit − used can really be spent at once. */
  used(cells: Float64Array, at: number, nowMs: number): number
  /** Puts the count at `used`, counting from now. */
  put(cells: Float64Array, at: number, nowMs: number, used: number): void
  /**
   * Gives `cost` units back, never above full. `endsAt`, if given, is the end of the state just after these units were spent. Then
   * the refund gives back only as many of them as still count, and never units that were spent later.
   */
  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void
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

/** Names that a rule counts by. */
export type Per = readonly string[] | undefined

/** The option `per`, as people write it. */
export type PerOption = string | readonly string[] | undefined

/** `per` of the rule that is made with such an option. */
export type PerOf<P extends PerOption> = P extends string ? readonly [P] : P extends readonly string[] ? P : undefined

/** Options of every rule. */
export interface RuleOptions<P extends PerOption = PerOption> {
  /**
   * Names of the keys that the rule counts by: `'user'`, `['org', 'route']`, or `[]` for one counter for everybody. A limiter
   * with such rules takes a record `{ user, org, route }`. Default: the rule counts by the key that a caller passes.
   */
  readonly per?: P
  /**
   * Name of the rule in decisions, headers and metrics. A key's usage is kept under the name: a named rule keeps
   * it when its numbers change. Default: the algorithm with its numbers, such as `fixed-window:100/1m`.
   */
  readonly name?: string
}

/** The rule's name: the one that is given, or one made of its numbers and `per`. */
export function ruleName({ name, per }: RuleOptions, numbers: string): string {
  if (name === undefined) return per === undefined ? numbers : `${numbers}:per-${[per].flat().sort().join('+')}`
  if (typeof name !== 'string' || name.length === 0 || name.length > 256) {
    throw new SluiceError('ERR_RULE', `a rule's name must be a string of 1 to 256 characters, got ${show(name)}`, {
      option: 'name',
      value: name,
    })
  }
  return name
}

/** A name that a rule can count by. */
const PER_NAME = /^[A-Za-z_][\w.-]{0,63}$/

const MOST_PER = 16

/** Reads the option `per`. Throws ERR_RULE unless it is a name or a list of different names. */
export function rulePer<P extends PerOption>(per: P): PerOf<P> {
  if (per === undefined) return undefined as PerOf<P>
  const names: readonly string[] = Array.isArray(per) ? per : [per]
  const areNames = names.every((name) => typeof name === 'string' && PER_NAME.test(name))
  if (!areNames || new Set(names).size < names.length || names.length > MOST_PER) {
    const message = `per takes a name such as 'user', or up to ${MOST_PER} different ones of letters, digits, dots, dashes and underscores, got ${show(per)}`
    throw new SluiceError('ERR_RULE', message, { option: 'per', value: per })
  }
  return Object.freeze([...names].sort()) as PerOf<P>
}

/** The text that a rule's states are kept under, besides the key. Different rules have different texts. */
export function stateName({ algorithm, name, per }: Rule): string {
  return per === undefined ? `${algorithm}\0${name}` : `\0${JSON.stringify([algorithm, name, per])}`
}
