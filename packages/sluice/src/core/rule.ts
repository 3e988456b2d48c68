// A rule: an algorithm with its parameters. It defines every change of a key's state.
// Invariant: a rule is pure. It reads no clock, and changes only the cells it is given. Between calls it keeps nothing but what it can
// compute again from its options and the time.

import { mustBe } from './errors.ts'
import type { RuleLog } from './rule-log.ts'

/**
 * The state of one key under one rule is `width` numbers in `cells`, from index `at` on. A store can run a rule on its own memory.
 * Or it loads the numbers, runs the rule, and writes them back.
 *
 * - Cell 0 is the time when the state ends, in ms since the epoch. From then on the key is as if it had never been hit.
 * - All zeros is the state of a key that has never been hit.
 * - `settle` brings the state to the time `nowMs`. It charges nothing, and drops units that no longer count. If the clock has
 *   stepped back, `settle` changes the state as if it had been written at `nowMs`.
 * - Every other method needs a state that was settled with the same `nowMs`. Only `take` settles the state itself.
 */
export interface Rule<P extends Per = Per> {
  /** Name of the algorithm. Two rules with different algorithms never share states, even if they have the same name. */
  readonly algorithm: string
  /** Name of the rule in decisions and headers. A store keeps states under algorithm, name, `per` and key. */
  readonly name: string
  /** Names of the subject's keys that the rule counts by, sorted; undefined if the rule counts by the subject itself. */
  readonly per: P
  /** The most units that a fresh key can spend at once. */
  readonly limit: number
  /** Time until all units are free again, after all of them were spent. For a sliding window: one window, not two. */
  readonly windowMs: number
  /** True if denied hits count too. */
  readonly countsDenied: boolean
  /** True if the rule has nothing but holds: a charge on it is always held, and ends with its hold. */
  readonly isHeld?: boolean
  /** Number of cells of a state; if the rule keeps logs, number of cells of an empty log. */
  readonly width: number
  /** The highest count that `spend` reaches and `put` accepts. Above it, sums would pass 2^53. */
  readonly mostUsed: number
  /**
   * Arguments of the rule's translations, by name; for a rule with `around`, its options. Rules with the same algorithm and the same
   * parameters decide alike.
   */
  readonly parameters: RuleParameters
  /** Set only for a rule that keeps a log for each key. */
  readonly log?: RuleLog
  /** The earliest time at which a spend can still count. The rule knows nothing of times before it. Omitted if it knows all times. */
  readonly countsFrom?: number

  settle(cells: Float64Array, at: number, nowMs: number): void
  /**
   * Decides a hit on this rule alone. It does the work of `settle` and `waitMs`, and of `spend` if the cost fits or denied hits
   * count. Returns the time until the cost fits.
   */
  take(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Returns the time until `cost` fits: 0 if it fits now, Infinity if it never will. */
  waitMs(cells: Float64Array, at: number, nowMs: number, cost: number): number
  /** Spends `cost`, also if it does not fit. */
  spend(cells: Float64Array, at: number, nowMs: number, cost: number): void
  /** Returns the units used now. They are rounded up, so that `limit − used` units can really be spent at once. */
  used(cells: Float64Array, at: number, nowMs: number): number
  /** Sets the units used, as if they were spent now. */
  put(cells: Float64Array, at: number, nowMs: number, used: number): void
  /**
   * Gives `cost` units back, at most as many as are used. With `endsAt` it takes back one charge: `endsAt` is the end of the
   * state, as it was just after that charge. Then it gives back only units of that charge, and only those that still count.
   */
  refund(cells: Float64Array, at: number, nowMs: number, cost: number, endsAt?: number): void
  /**
   * True if this algorithm can have written these cells, with any parameters. Called for a state that was read from a store, from
   * index 0 on. Invariant: all cells are whole numbers below 2^53, and their number fits `width`. Omitted if any such cells are a
   * state.
   */
  isSound?(cells: Float64Array): boolean
  /**
   * Only for a rule whose translations get other arguments at other times. Returns a rule with these arguments as its parameters. It
   * decides as this rule does, at `nowMs` and for at least one window before and after it. Returns the same object until `nowMs` has
   * left the window. A store that runs translations describes this rule to them.
   */
  around?(nowMs: number): Rule<P>
}

/** Values that define a rule, by name. Only a rule with `around` has texts. */
export type RuleParameters = Readonly<Record<string, number | boolean | string>>

/** A `take` that calls the other methods, for rules without a faster `take` of their own. */
export function takeByMethods(rule: Rule, cells: Float64Array, at: number, nowMs: number, cost: number): number {
  rule.settle(cells, at, nowMs)
  const waitMs = rule.waitMs(cells, at, nowMs, cost)
  if (waitMs > 0 && !rule.countsDenied) return waitMs
  rule.spend(cells, at, nowMs, cost)
  // A denied hit that counts may have made the wait longer.
  return waitMs === 0 ? 0 : rule.waitMs(cells, at, nowMs, cost)
}

/** Names of the subject's keys that a rule counts by. */
export type Per = readonly string[] | undefined

/** The option `per`, as people write it. */
export type PerOption = string | readonly string[] | undefined

/** Type of a rule's `per`, by the type of the option. */
export type PerOf<P extends PerOption> = P extends string ? readonly [P] : P extends readonly string[] ? P : undefined

/** Options of every rule. */
export interface RuleOptions<P extends PerOption = PerOption> {
  /**
   * Names of the keys that the rule counts by: `'user'`, `['org', 'route']`, or `[]` for one counter for everybody. A limiter
   * with such rules takes an object `{ user, org, route }`. Default: the rule counts by the key that a caller passes.
   */
  readonly per?: P
  /**
   * Name of the rule in decisions, headers and metrics. States are kept under the name, so a rule with a name of its own keeps
   * its states when its parameters change. Default: the algorithm with its parameters, such as `fixed-window:100/1m`.
   */
  readonly name?: string
}

/** Returns the option `name`. If there is none, returns a name that is made of the parameters and `per`. */
export function ruleName({ name, per }: RuleOptions, parameters: string): string {
  if (name === undefined) return per === undefined ? parameters : `${parameters}:per-${[per].flat().sort().join('+')}`
  if (typeof name !== 'string' || name.length === 0 || name.length > 256) {
    throw mustBe('ERR_RULE', 'name', 'a string of 1 to 256 characters', name)
  }
  return name
}

/** Matches a valid name in `per`. */
const PER_NAME = /^[A-Za-z_][\w.-]{0,63}$/

const MOST_PER = 16

/** Reads the option `per`. Throws ERR_RULE unless it is a name or a list of different names. */
export function rulePer<P extends PerOption>(per: P): PerOf<P> {
  if (per === undefined) return undefined as PerOf<P>
  const names: readonly string[] = Array.isArray(per) ? [...per] : [per]
  const areNames = names.every((name) => typeof name === 'string' && PER_NAME.test(name))
  if (!areNames || new Set(names).size < names.length || names.length > MOST_PER) {
    const need = `up to ${MOST_PER} different names of letters, digits, '.', '-' and '_'`
    throw mustBe('ERR_RULE', 'per', need, per)
  }
  return Object.freeze([...names].sort()) as PerOf<P>
}

/** Returns a text that tells the states of one rule from the states of every other rule under the same key. */
export function stateName({ algorithm, name, per }: Rule): string {
  return per === undefined ? `${algorithm}\0${name}` : `\0${JSON.stringify([algorithm, name, per])}`
}
