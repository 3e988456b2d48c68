// Policies with the same rules and limits that nobody reaches, to see how much each client would use.
// A client stays untouched by a rule exactly if its highest usage without a limit fits the limit: until the first denial, the states
// under both are the same.

import { findRuleFacts, type NotationParts, type RuleSpec, readNotation } from 'sluice/rules'
import { ServerError } from '../../errors.ts'
import { type Policy, readPolicy } from '../../policies/policy.ts'

/** Limits to try, the highest first. Numbers of a rule must stay below 2^53, so a rule with a long window has a lower one. */
const HIGHEST_POWER = 52
const LOWEST_POWER = 20
const STEP = 4

/** A rule of a policy as data, and in a few words: its notation, if it is written in notation. */
export interface WrittenRule {
  readonly name: string
  readonly spec: RuleSpec
  readonly words: string
}

/** Returns the rules of a policy in their written order, with the names that the policy gives them. */
export function writtenRules({ spec }: Policy): WrittenRule[] {
  const rules = (spec.rules ?? []).flatMap((rule): Omit<WrittenRule, 'name'>[] => {
    if (typeof rule === 'string') return readNotation(rule).map((parts) => ({ spec: fromNotation(parts), words: parts.text }))
    const { algorithm, ...options } = rule
    return [{ spec: rule, words: factsOf(algorithm).inWords(options as never) }]
  })
  return rules.map((rule, i) => ({ ...rule, name: rule.spec.name ?? `rule-${i + 1}` }))
}

/** Returns a rule with another limit: the most units that a fresh key can spend at once. The rate of a bucket stays. */
export function withLimit(rule: RuleSpec, limit: number): RuleSpec {
  return { ...rule, [limitOption(rule)]: limit }
}

/**
 * Returns the policy with raised limits; undefined if no limit is high enough, or if the policy denies everything or can only be
 * reserved.
 */
export function raisedPolicy(policy: Policy): Policy | undefined {
  const { mode } = policy
  const denies = mode === 'deny' || policy.closedBy !== undefined
  if (denies || policy.rules.some(({ isHeld }) => isHeld)) return undefined
  const rules: RuleSpec[] = []
  for (const { name, spec } of writtenRules(policy)) {
    const raised = raisedRule(policy, { ...spec, name })
    if (raised === undefined) return undefined
    rules.push(raised)
  }
  return readPolicy({ ...policy.spec, rules, mode: mode === 'off' ? 'off' : 'enforce' }, policy.source)
}

function raisedRule({ spec }: Policy, rule: RuleSpec): RuleSpec | undefined {
  for (let power = HIGHEST_POWER; power >= LOWEST_POWER; power -= STEP) {
    const raised = withLimit(rule, 2 ** power)
    try {
      readPolicy({ ...spec, rules: [raised] }, 'api')
      return raised
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
    }
  }
  return undefined
}

function limitOption({ algorithm }: RuleSpec): string {
  const { rate } = factsOf(algorithm)
  return rate.burst ?? rate.units
}

function fromNotation({ algorithm, limit, windowMs, calendar, burst }: NotationParts): RuleSpec {
  const { rate } = factsOf(algorithm)
  const options: Record<string, unknown> = { [rate.units]: limit, [rate.every]: calendar ?? windowMs }
  if (rate.burst !== undefined) options[rate.burst] = burst ?? limit
  return { algorithm, ...options } as RuleSpec
}

function factsOf(algorithm: string) {
  const facts = findRuleFacts(algorithm)
  if (facts === undefined) throw new Error(`no rule has the algorithm ${algorithm}`)
  return facts
}
