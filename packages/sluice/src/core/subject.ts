// Turns a subject and costs, as callers write them, into the charges of a call.
// Invariant: bad input throws here, before the store is asked, so nothing is written.

import type { Charge } from './call.ts'
import { checkCost } from './cost.ts'
import { mustBe, SluiceError, show } from './errors.ts'
import { checkKey } from './key.ts'
import type { Rule } from './rule.ts'

/** A key; or, for rules with `per`, a record of named keys. */
export type Subject = string | Readonly<Record<string, string>>

/** Type of the subject for rules of type `R`: a string without `per`, else a record with exactly the names that the rules use. */
export type SubjectOf<R extends Rule> = R['per'] extends undefined
  ? string
  : R['per'] extends readonly (infer N extends string)[]
    ? [N] extends [never]
      ? Readonly<Record<string, never>>
      : { readonly [K in N]: string }
    : Subject

/**
 * Units to spend: a number for all rules, or a record by rule name. A rule with cost 0 is not asked. A rule without an entry
 * costs 1.
 */
export type Cost = number | Readonly<Record<string, number>>

/** The key of a rule with an empty `per`: one counter for everybody. */
const EVERYBODY = '*'

export class Subjects {
  /** True if a subject is a string, the key of every rule. */
  readonly arePlain: boolean
  readonly #rules: readonly Rule[]
  /** Every name that a rule counts by. */
  readonly #names: readonly string[]

  /** Throws ERR_OPTION if only some of the rules have `per`. */
  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.arePlain = rules[0].per === undefined
    const odd = rules.find(({ per }) => (per === undefined) !== this.arePlain)
    if (odd !== undefined) {
      const message = `either all rules of a limiter have per or none has: ${show(rules[0].name)} and ${show(odd.name)} differ`
      throw new SluiceError('ERR_OPTION', message, { option: 'per', value: odd.per })
    }
    this.#names = [...new Set(rules.flatMap(({ per }) => per ?? []))]
  }

  /**
   * Returns the charges on every rule with a cost above 0. `least` is the smallest cost that is allowed for all rules at once.
   */
  charges(given: Subject, cost: Cost | undefined, least: 0 | 1): readonly Charge[] {
    const subject = this.read(given)
    const rules = this.#rules
    if (cost === undefined || typeof cost === 'number') {
      const amount = cost ?? 1
      checkCost(amount, least)
      const all: Charge[] = []
      for (let i = 0; i < rules.length; i++) all.push({ rule: i, key: keyOf(rules[i], subject), amount })
      return all
    }
    const costs = this.#checkedCosts(cost)
    const charges: Charge[] = []
    rules.forEach((rule, i) => {
      const amount = Object.hasOwn(costs, rule.name) ? costs[rule.name] : 1
      if (amount > 0) charges.push({ rule: i, key: keyOf(rule, subject), amount })
    })
    if (charges.length > 0) return charges
    const message = 'a rule that costs 0 is not asked, so cost must be at least 1 for one of the rules'
    throw new SluiceError('ERR_COST', message, { option: 'cost', value: cost })
  }

  /** Returns the charge on one rule, by its index. */
  charge(subject: Subject, rule: number, amount: number): Charge {
    return { rule, key: keyOf(this.#rules[rule], this.read(subject)), amount }
  }

  /**
   * Returns a key, or a copy of the own enumerable properties of a record. The copy reads each getter once, so the checked values
   * are the values that count. Throws ERR_KEY if the subject does not fit these rules.
   */
  read(subject: Subject): Subject {
    if (this.arePlain) {
      checkKey(subject)
      return subject
    }
    if (typeof subject !== 'object' || subject === null || Array.isArray(subject)) {
      throw mustBe('ERR_KEY', 'subject', `a record of ${this.#names.join(', ')}`, subject)
    }
    const keys = { ...subject }
    for (const name of this.#names) {
      const value: unknown = Object.hasOwn(keys, name) ? keys[name] : undefined
      if (typeof value === 'string' && value.length > 0) continue
      throw mustBe('ERR_KEY', name, 'a string of at least one character', value)
    }
    const unknown = Object.keys(keys).find((name) => !this.#names.includes(name))
    if (unknown === undefined) return keys
    const message = `no rule counts by ${show(unknown)}: they count by ${this.#names.join(', ') || 'nothing'}`
    throw new SluiceError('ERR_KEY', message, { option: unknown, value: keys[unknown] })
  }

  /**
   * Returns a copy of the own enumerable properties. The copy reads each getter once, so the checked costs are the costs that are
   * spent. A map or promise has no such properties and would cost 1 everywhere, so it is refused.
   */
  #checkedCosts(cost: unknown): Readonly<Record<string, number>> {
    if (Object.prototype.toString.call(cost) !== '[object Object]') checkCost(cost, 1)
    const costs = { ...(cost as Readonly<Record<string, number>>) }
    for (const [name, amount] of Object.entries(costs)) {
      if (!this.#rules.some((rule) => rule.name === name)) {
        const names = this.#rules.map((rule) => show(rule.name)).join(', ')
        throw new SluiceError('ERR_RULE_NAME', `cost names no rule of the limiter: ${show(name)}; there is ${names}`, {
          option: name,
          value: amount,
        })
      }
      checkCost(amount, 0, name)
    }
    return costs
  }
}

/** Returns a text that identifies the subject: equal subjects have equal texts, and different subjects different ones. */
export function textOf(subject: Subject): string {
  return typeof subject === 'string' ? subject : JSON.stringify(Object.entries(subject).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Invariant: subjects that differ in a value of `per` have different keys. The names are part of the rule's own identity. */
function keyOf({ per }: Rule, subject: Subject): string {
  if (per === undefined) return subject as string
  const values = subject as Readonly<Record<string, string>>
  if (per.length === 0) return EVERYBODY
  if (per.length === 1) return values[per[0]]
  let key = ''
  for (const name of per) key += `${values[name].length}:${values[name]}`
  return key
}
