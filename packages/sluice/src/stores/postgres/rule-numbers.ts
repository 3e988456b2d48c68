// A rule as numbers for the functions in Postgres: its translation, its algorithm, and its parameters in the order of the translation.
// Invariant: a rule has exactly the parameters that its translation reads.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { rulePart } from '../../engines/state-names.ts'
import { ALGORITHMS, PARAMETERS } from './program/program.ts'
import { type ShortRule, shortRuleOf } from './short-hits.ts'

/** The rules of a call. */
export interface RuleNumbers {
  /** The numbers of each rule, separated by commas. */
  readonly texts: readonly string[]
  /** The text after the key in the name of a state, for each rule. */
  readonly ends: readonly string[]
  /** Set if hits have the short way. */
  readonly short: ShortRule | undefined
}

/** Index of the rule's algorithm in its numbers. A charge points there. */
export const ALGORITHM_AT = 4

/** True if there is a translation of every rule. */
export function areTranslated(rules: readonly Rule[]): boolean {
  return rules.every(({ algorithm }) => Object.hasOwn(ALGORITHMS, algorithm))
}

/** Throws ERR_RULE if there is no translation of a rule. */
export function describeRules(rules: readonly Rule[]): RuleNumbers {
  return { texts: rules.map((rule) => numbersOf(rule).join()), ends: rules.map(rulePart), short: shortRuleOf(rules) }
}

function numbersOf({ algorithm, parameters, countsDenied, isHeld, windowMs, limit }: Rule): readonly number[] {
  if (!Object.hasOwn(ALGORITHMS, algorithm)) {
    const known = Object.keys(ALGORITHMS).join(', ')
    const message = `there is no function in Postgres for the algorithm ${show(algorithm)}, only for ${known}: use mode 'auto'`
    throw new SluiceError('ERR_RULE', message)
  }
  const { translation, algorithm: number } = ALGORITHMS[algorithm]
  const names = PARAMETERS[translation - 1]
  const wrong = [
    ...names.filter((name) => !Object.hasOwn(parameters, name)),
    ...Object.keys(parameters).filter((name) => !names.includes(name)),
  ]
  if (wrong.length > 0) {
    const message = `the function for ${algorithm} needs the parameters ${names.join(', ')}: not so with ${wrong.join(', ')}`
    throw new SluiceError('ERR_RULE', message)
  }
  return [
    windowMs,
    limit,
    translation,
    isHeld ? 2 : Number(countsDenied),
    number,
    ...names.map((name) => Number(parameters[name])),
  ]
}
