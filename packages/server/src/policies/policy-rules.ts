// The rules of a policy, from the form that people write to those of the library.
// Invariant: a rule's name never holds its numbers, so that a policy whose limit changes keeps what was used.
// It does not hold the policy's name either: whether policies share a count is up to the key that is counted.

import { parseRule, type Rule, SluiceError } from 'sluice'
import { makeRule, type RuleSpec } from 'sluice/rules'
import type { Problem } from '../errors.ts'
import { within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { MOST_RULES } from './policy-schema.ts'

/** Makes the rules that stand at `at`; adds what is wrong with them to `problems`. */
export function readRules(written: readonly (string | RuleSpec)[], at: string, problems: Problem[]): Rule[] {
  const rules: Rule[] = []
  written.forEach((spec, i) => {
    try {
      rules.push(...readRule(spec, (place) => `rule-${rules.length + place + 1}`))
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      problems.push({ at: within(at, i), message: `${within(at, i)}: ${error.message}` })
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

/** The rules of one entry: a notation may hold several. Those without a name of their own are named by their place. */
function readRule(spec: string | RuleSpec, nameAt: (place: number) => string): readonly Rule[] {
  if (typeof spec === 'string') return [parseRule(spec, { name: nameAt })].flat()
  return [makeRule({ ...spec, name: spec.name ?? nameAt(0) })]
}
