// A rule: an algorithm with its parameters. It defines every change of a key's state.
// Invariant: a rule is pure. It reads no clock, keeps nothing between calls, and changes only the cells it is given.

import { SluiceError, show } from './errors.ts'
import type { RuleLog } from './rule-log.ts'

/**
 * The state of one key under one rule is `width` numbers in `cells`, from index `at` on. A store can run a rule inside its own
 * memory, or load the numbers, run the rule and write them back.
 *
 * - Cell 0 is the time when the state ends, in ms since the epoch. From then on the key is as if it had never been hit.
 * - All zeros is the state of a key that has never been hit.
 * - `settle` brings the state to `nowMs`. It is called before every other method, with the same `nowMs`. It charges nothing: it
 *   drops what no longer counts. If the clock has stepped back, it changes the state as if the state had been written now.
 */
export interface Rule<P extends Per = Per> {
  /** Name of the algorithm. States of different algorithms never meet, even under one name. */
  readonly algorithm: string
  /** Name of the rule in decisions and headers. A store keeps states under algorithm, name, `per` and key. */
  readonly name: string
  /** Names of the subject's keys that the rule counts by, sorted; undefined if the rule counts by the subject itself. */
  readonly per: P
  /** The quota: the largest cost that a fresh key can spend at once. */
  readonly limit: number
  /** Time from all units spent to all units free again (without the second window of a sliding window). */
  readonly windowMs: number
  /** True if denied hits count too. */
  readonly countsDenied: boolean
  /** Number of cells of a key's state; for a rule that keeps a log, of an empty log. */
  readonly width: number
  /** The highest count that `spend` reaches and `put` accepts. Above it, sums would pass 2^53. */
  readonly mostUsed: number
  /** Arguments of the rule's translations, by name. Two rules with the same algorithm and parameters decide alike. */
  readonly parameters: RuleParameters
  /** Set only for a rule that keeps a log for each key. */
  readonly log?: RuleLog

  settle(cells: Float64Array, at: number, nowMs: number): void
  /**
   * Decides a hit on this rule alone: `settle`, `waitMs`, and `spend` if the cost fits or denied hits count. Returns the time
   * until it fits.
   */
  take(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Returns the time until `cost` fits: 0 if it fits now, Infinity if it never will. */
  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Spends `cost`, also if it does not fit. */
  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void
  /** Returns the units used now, rounded up, so that limit − used can be spent at once. */
  used(cells: Float64Array, at: number, nowMs: number): number
  /** Sets the units used, as if they were spent now. */
  put(cells: Float64Array, at: number, nowMs: number, used: number): void
  /**
   * Gives `cost` units back, never above full. `endsAt`, if given, is the end of the state just after these units were spent.
   * Then the refund gives back only as many of them as still count, and never units that were spent later.
   */
  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void
  /**
   * True if this algorithm can have written these cells, with any parameters. Called for a state that was read from a store, from
   * index 0 on. Invariant: all cells are whole numbers below 2^53, and their number fits `width`. Omitted if any such cells are a
   * state.
   */
  isSound?(cells: Float64Array): boolean
}

export type RuleParameters = Readonly<Record<string, number | boolean>>

/** `take` made of the other methods, for rules without a faster `take` of their own. */
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

/** Type of a rule's `per`, by the type of the option. */
export type PerOf<P extends PerOption> = P extends string ? readonly [P] : P extends readonly string[] ? P : undefined

/** Options of every rule. */
export interface RuleOptions<P extends PerOption = PerOption> {
  /**
   * Names of the keys that the rule counts by: `'user'`, `['org', 'route']`, or `[]` for one counter for everybody. A limiter
   * with such rules takes a record `{ user, org, route }`. Default: the rule counts by the key that a caller passes.
   */
  readonly per?: P
  /**
   * Name of the rule in decisions, headers and metrics. States are kept under the name, so a rule with a name of its own keeps
   * its states when its parameters change. Default: the algorithm with its parameters, such as `fixed-window:100/1m`.
   */
  readonly name?: string
}

/** Returns the name that is given, or a name made of the parameters and `per`. */
export function ruleName({ name, per }: RuleOptions, parameters: string): string {
  if (name === undefined) return per === undefined ? parameters : `${parameters}:per-${[per].flat().sort().join('+')}`
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
  const names: readonly string[] = Array.isArray(per) ? [...per] : [per]
  const areNames = names.every((name) => typeof name === 'string' && PER_NAME.test(name))
  if (!areNames || new Set(names).size < names.length || names.length > MOST_PER) {
    const message = `per takes a name such as 'user', or up to ${MOST_PER} different ones of letters, digits, dots, dashes and underscores, got ${show(per)}`
    throw new SluiceError('ERR_RULE', message, { option: 'per', value: per })
  }
  return Object.freeze([...names].sort()) as PerOf<P>
}

/** Returns the text that identifies a rule's states, besides the key. Different rules have different texts. */
export function stateName({ algorithm, name, per }: Rule): string {
  return per === undefined ? `${algorithm}\0${name}` : `\0${JSON.stringify([algorithm, name, per])}`
}
