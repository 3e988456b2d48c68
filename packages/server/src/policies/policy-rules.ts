// The rules of a policy, from the form that people write to those of the library.
// What must stay true: a rule's name never holds its numbers, so that a policy whose limit changes keeps what was used.
// It does not hold the policy's name either: whether policies share a count is up to the key that is counted.

import { fixedWindow, gcra, leakyBucket, parseRule, type Rule, SluiceError, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import type { Problem } from '../errors.ts'
import { within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'
import { MOST_RULES, type RuleSpec } from './policy-schema.ts'

/** The schema has held each spec against the options of its algorithm. */
const MAKERS: Readonly<Record<RuleSpec['algorithm'], (options: never) => Rule>> = {
  'fixed-window': fixedWindow,
  'sliding-log': slidingLog,
  'sliding-window': slidingWindow,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
}

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
  const { algorithm, name = nameAt(0), ...options } = spec
  return [MAKERS[algorithm]({ ...options, name } as never)]
}
