// The rules of a policy, from the form that people write to those of the library.
// Invariant: a rule's name never holds its numbers, so that a policy whose limit changes keeps what was used.
// It does not hold the policy's name either: whether policies share a count is up to the key that is counted.

import { parseRule, type Rule, SluiceError } from 'sluice'
import { makeRule, type RuleSpec } from 'sluice/rules'
import type { Problem } from '../errors.ts'
import { within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { MOST_RULES } from './policy-schema.ts'

/** One rule, or a list of rules, as people write them. */
export type WrittenRules = string | RuleSpec | readonly (string | RuleSpec)[]

/** Makes the rules that are written at the place `at`. Adds their problems to `problems`. */
export function readRules(written: WrittenRules, at: string, problems: Problem[]): Rule[] {
  const rules: Rule[] = []
  const specs = [written].flat() as readonly (string | RuleSpec)[]
  specs.forEach((spec, i) => {
    try {
      rules.push(...readRule(spec, (place) => `rule-${rules.length + place + 1}`))
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      const place = placeOf(error, spec, Array.isArray(written) ? within(at, i) : at)
      problems.push({ at: place, message: `${place}: ${error.message}` })
    }
  })
  const names = rules.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) problems.push({ at, message: `two of ${at} are called ${show(twice)}: give each a name of its own` })
  if (rules.length > MOST_RULES) {
    problems.push({ at, message: `${at} must be 1 to ${MOST_RULES} in all, and has ${rules.length}` })
  }
  return rules
}

/** Returns the place of an error: the option that it is about, or the whole rule. Notation has no options. */
function placeOf({ option }: SluiceError, spec: string | RuleSpec, at: string): string {
  return typeof spec === 'string' || option === undefined ? at : within(at, option)
}

/** The rules of one entry: a notation may hold several. Those without a name of their own are named by their place. */
function readRule(spec: string | RuleSpec, nameAt: (place: number) => string): readonly Rule[] {
  if (typeof spec === 'string') return [parseRule(spec, { name: nameAt })].flat()
  return [makeRule({ ...spec, name: spec.name ?? nameAt(0) })]
}
