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

/** Returns the rules of a policy that count as data, one for each rule. Their names are those of the policy. */
export function ruleSpecsOf({ spec, rules }: Policy): RuleSpec[] {
  const specs = (spec.rules ?? []).flatMap((rule) => (typeof rule === 'string' ? readNotation(rule).map(fromNotation) : [rule]))
  const counting = specs.filter((each) => !('limit' in each) || each.limit > 0)
  return counting.slice(0, rules.length).map((each, i) => ({ ...each, name: rules[i].name }))
}

/** Returns each rule of a policy in a few words: its notation, if it is written in notation. */
export function ruleWordsOf({ spec }: Policy): string[] {
  return (spec.rules ?? []).flatMap((rule) => {
    if (typeof rule === 'string') return readNotation(rule).map(({ text }) => text)
    const { algorithm, ...options } = rule
    return [factsOf(algorithm).inWords(options as never)]
  })
}

/** Returns a rule with another limit: the most units that a fresh key can spend at once. The rate of a bucket stays. */
export function withLimit(rule: RuleSpec, limit: number): RuleSpec {
  return { ...rule, [limitOption(rule)]: limit }
}

/** Returns the policy with raised limits; undefined if no limit is high enough, or the policy can only be reserved or denies everything. */
export function raisedPolicy(policy: Policy): Policy | undefined {
  if (policy.rules.some(({ isHeld }) => isHeld)) return undefined
  if (policy.mode === 'deny' || policy.closedBy !== undefined) return undefined
  const rules: RuleSpec[] = []
  for (const rule of ruleSpecsOf(policy)) {
    const raised = raisedRule(policy, rule)
    if (raised === undefined) return undefined
    rules.push(raised)
  }
  const mode = policy.mode === 'off' ? 'off' : 'enforce'
  return readPolicy({ ...policy.spec, rules, mode }, policy.source)
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
