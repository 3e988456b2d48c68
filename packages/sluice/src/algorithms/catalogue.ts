// The rule catalogue: the facts about every rule, in the order in which schemas, forms and documents show them.
// A new rule is one line in this list, and its import. Everything else is derived from here.

import { SluiceError, show } from '../core/errors.ts'
import type { Rule, RuleOptions } from '../core/rule.ts'
import type { RuleFacts } from '../core/rule-facts.ts'
import { calendarWindowFacts } from './calendar-window/facts.ts'
import { concurrencyFacts } from './concurrency/facts.ts'
import { fixedWindowFacts } from './fixed-window/facts.ts'
import { gcraFacts } from './gcra/facts.ts'
import { leakyBucketFacts } from './leaky-bucket/facts.ts'
import { slidingLogFacts } from './sliding-log/facts.ts'
import { slidingWindowFacts } from './sliding-window/facts.ts'
import { tokenBucketFacts } from './token-bucket/facts.ts'

// biome-ignore format: a line for each rule
const CATALOGUE = [
  fixedWindowFacts,
  slidingLogFacts,
  slidingWindowFacts,
  tokenBucketFacts,
  gcraFacts,
  leakyBucketFacts,
  calendarWindowFacts,
  concurrencyFacts,
] as const

type CataloguedFacts = (typeof CATALOGUE)[number]

/** The name of a rule's algorithm, as people write it. */
export type Algorithm = CataloguedFacts['algorithm']

/** A rule as data: its algorithm, and the options of the function that makes it. */
export type RuleSpec = SpecOf<CataloguedFacts>

type SpecOf<F> = F extends RuleFacts<infer A, infer O> ? SpecWith<A, O> : never

type SpecWith<A extends string, O extends RuleOptions> = { readonly algorithm: A } & O

/** The facts about every rule. */
export const ruleCatalogue: readonly RuleFacts<Algorithm>[] = CATALOGUE

/** Returns the facts about one rule; undefined if there is no such algorithm. */
export function findRuleFacts(algorithm: string): RuleFacts<Algorithm> | undefined {
  return ruleCatalogue.find((facts) => facts.algorithm === algorithm)
}

/** Makes the rule that a spec describes. Throws the same errors as the rule's own function. */
export function makeRule({ algorithm, ...options }: RuleSpec): Rule {
  const facts = findRuleFacts(algorithm)
  if (facts === undefined) {
    const known = ruleCatalogue.map((each) => each.algorithm).join(', ')
    throw new SluiceError('ERR_RULE', `no rule has the algorithm ${show(algorithm)}: there is ${known}`, {
      option: 'algorithm',
      value: algorithm,
    })
  }
  return facts.make(options as never)
}
