// Turns a subject and costs, as callers write them, into the charges of a call.
// Invariant: bad input throws here, before the store is asked, so nothing is written.

import type { Charge } from './call.ts'
import { checkCost, checkCosts } from './cost.ts'
import { type ErrorDetails, mustBe, SluiceError, show } from './errors.ts'
import { checkKey } from './key.ts'
import type { Rule } from './rule.ts'

/** A key; or, for rules with `per`, an object of named keys. */
export type Subject = string | Readonly<Record<string, string>>

/** Type of the subject for rules of type `R`: a string without `per`, else an object with exactly the names that the rules use. */
export type SubjectOf<R extends Rule> = R['per'] extends undefined
  ? string
  : R['per'] extends readonly (infer N extends string)[]
    ? [N] extends [never]
      ? Readonly<Record<string, never>>
      : { readonly [K in N]: string }
    : Subject

/**
 * Units to spend: a number for all rules, or an object with a number for each rule name. A rule with cost 0 is not asked. A rule
 * that the object does not name costs 1.
 */
export type Cost = number | Readonly<Record<string, number>>

/** The key of a rule with an empty `per`: one counter for everybody. */
const EVERYBODY = '*'

export class Subjects {
  /** True if a subject is a string. Then it is the key of every rule. */
  readonly arePlain: boolean
  readonly #rules: readonly Rule[]
  /** Names of the keys that the rules count by. */
  readonly #names: readonly string[]

  /** Throws ERR_OPTION if only some of the rules have `per`. */
  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.arePlain = rules[0].per === undefined
    const odd = rules.find(({ per }) => (per === undefined) !== this.arePlain)
    if (odd !== undefined) {
      const message = `all rules of a limiter have per, or none: ${show(rules[0].name)} and ${show(odd.name)} differ`
      throw new SluiceError('ERR_OPTION', message, { option: 'per', value: odd.per })
    }
    this.#names = [...new Set(rules.flatMap(({ per }) => per ?? []))]
  }

  /**
   * Returns a charge for each rule with a cost above 0. A single number is the cost of all rules, and must be at least `least`.
   * If it is 0, each rule has a charge of 0.
   */
  charges(given: Subject, cost: Cost = 1, least: 0 | 1 = 1): readonly Charge[] {
    const subject = this.read(given)
    const rules = this.#rules
    if (typeof cost === 'number') checkCost(cost, least)
    const amounts = typeof cost === 'number' ? undefined : costsByRule(rules, cost)
    const charges: Charge[] = []
    for (let i = 0; i < rules.length; i++) {
      const amount = amounts === undefined ? (cost as number) : amounts[i]
      if (amount > 0 || cost === 0) charges.push({ rule: i, key: keyOf(rules[i], subject), amount })
    }
    return charges
  }

  /** Returns the charge on one rule, by its index. */
  charge(subject: Subject, rule: number, amount: number): Charge {
    return { rule, key: keyOf(this.#rules[rule], this.read(subject)), amount }
  }

  /**
   * Returns a key, or a copy of the own enumerable properties of an object. The copy reads each getter once, so the checked values
   * are the values that count. Throws ERR_KEY if the subject does not fit these rules.
   */
  read(subject: Subject): Subject {
    if (this.arePlain) {
      checkKey(subject)
      return subject
    }
    if (typeof subject !== 'object' || subject === null || Array.isArray(subject)) {
      throw mustBe('ERR_KEY', 'subject', `an object with ${this.#names.join(', ') || 'no names'}`, subject)
    }
    const keys = { ...subject }
    for (const name of this.#names) checkKey(Object.hasOwn(keys, name) ? keys[name] : undefined, name)
    const unknown = Object.keys(keys).find((name) => !this.#names.includes(name))
    if (unknown === undefined) return keys
    const message = `no rule counts by ${show(unknown)}: they count by ${this.#names.join(', ') || 'nothing'}`
    throw new SluiceError('ERR_KEY', message, { option: unknown, value: keys[unknown] })
  }
}

/**
 * Returns the cost of each rule, in the order of `rules`. Throws if `cost` is not an object of costs by rule name. At least one cost
 * must be `least`.
 */
export function costsByRule(rules: readonly Rule[], cost: unknown, least: 0 | 1 = 1): readonly number[] {
  checkCosts(cost)
  // A copy, because a getter could return another number when it is read again.
  const costs = { ...(cost as Readonly<Record<string, number>>) }
  for (const [name, amount] of Object.entries(costs)) {
    if (!rules.some((rule) => rule.name === name)) {
      throw unknownRule(rules, `cost names no rule of the limiter: ${show(name)};`, { option: name, value: amount })
    }
    checkCost(amount, 0, name)
  }
  const amounts = rules.map(({ name }) => (Object.hasOwn(costs, name) ? costs[name] : 1))
  if (amounts.some((amount) => amount >= least)) return amounts
  // A rule that costs 0 is not asked.
  throw mustBe('ERR_COST', 'cost', 'at least 1 for one of the rules', cost)
}

/**
 * Returns the key of a rule. Invariant: subjects with different values for the names in `per` have different keys. The names
 * themselves are not in the key: `stateName` has them.
 */
export function keyOf({ per }: Rule, subject: Subject): string {
  if (per === undefined) return subject as string
  const values = subject as Readonly<Record<string, string>>
  if (per.length === 0) return EVERYBODY
  if (per.length === 1) return values[per[0]]
  let key = ''
  for (const name of per) key += `${values[name].length}:${values[name]}`
  return key
}

/** Makes the error about a name that no rule has: `problem`, followed by the names that there are. */
export function unknownRule(rules: readonly Rule[], problem: string, details: ErrorDetails): SluiceError {
  return new SluiceError('ERR_RULE_NAME', `${problem} there is ${rules.map(({ name }) => show(name)).join(', ')}`, details)
}
