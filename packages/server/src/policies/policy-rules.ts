// Makes the rules of a policy from the form that people write.
// Invariant: the name of a rule contains neither its numbers nor the name of its policy. A policy keeps its counts when its limit
// changes, and the counted key alone decides if two policies share a count.

import { createLimiter, holds, parseRule, type Rule, SluiceError } from 'sluice'
import { makeRule, type RuleSpec } from 'sluice/rules'
import { LIMITS } from '../contract/limits.ts'
import type { Problem } from '../errors.ts'
import { within } from '../input/check-input.ts'
import { show } from '../input/near-word.ts'

/** One rule, or a list of rules, as people write them. */
export type WrittenRules = string | RuleSpec | readonly (string | RuleSpec)[]

/** Makes the rules that are written at the path `at`. Adds their problems to `problems`. */
export function readRules(written: WrittenRules, at: string, problems: Problem[]): Rule[] {
  const rules: Rule[] = []
  const specs = [written].flat() as readonly (string | RuleSpec)[]
  specs.forEach((spec, i) => {
    try {
      rules.push(...readRule(spec, (index) => `rule-${rules.length + index + 1}`))
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      const path = pathOf(error, spec, Array.isArray(written) ? within(at, i) : at)
      problems.push({ at: path, message: `${path}: ${error.message}` })
    }
  })
  const names = rules.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) problems.push({ at, message: `two of ${at} are called ${show(twice)}: give each a name of its own` })
  if (rules.length > LIMITS.mostRules) {
    problems.push({ at, message: `${at} must be 1 to ${LIMITS.mostRules} in all, and has ${rules.length}` })
  }
  return rules
}

/** Returns the path of an error: the option that it is about, or the whole rule. Notation has no options. */
function pathOf({ option }: SluiceError, spec: string | RuleSpec, at: string): string {
  return typeof spec === 'string' || option === undefined ? at : within(at, option)
}

/** Returns the rules of one entry: a notation may have several. `nameAt` names a rule that has no name of its own. */
function readRule(spec: string | RuleSpec, nameAt: (index: number) => string): readonly Rule[] {
  if (typeof spec === 'string') return [parseRule(spec, { name: nameAt })].flat()
  const rule = makeRule({ ...spec, name: spec.name ?? nameAt(0) })
  if (rule.isHeld) tryHolds(rule)
  return [rule]
}

/** Throws if no limiter can hold units under the rule, because its places would be kept for too long. */
function tryHolds(rules: Rule): void {
  createLimiter({ rules, holds: holds() }).close()
}
