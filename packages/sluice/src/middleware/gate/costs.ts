// Costs by rule name.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { type Cost, costsByRule } from '../../core/subject.ts'

/** Throws if no request with this cost could pass these rules: an unknown rule, all costs 0, or a cost above a rule's limit. */
export function checkStaticCost(door: string, rules: readonly Rule[], cost: Cost): void {
  const amounts = typeof cost === 'number' ? rules.map(() => cost) : costsByRule(rules, cost)
  const above = rules.findIndex(({ limit }, i) => amounts[i] > limit)
  if (above < 0) return
  const { name, limit } = rules[above]
  const message = `${door} denies every request: the cost ${amounts[above]} is above ${limit}, the limit of ${show(name)}`
  throw new SluiceError('ERR_COST', message, { option: typeof cost === 'number' ? 'cost' : name, value: amounts[above] })
}

/** Returns the cost of each rule. It is 0 if `isMeant` returns false for the rule. */
export function costsOf(
  rules: readonly Rule[],
  cost: Cost | undefined,
  isMeant: (rule: string) => boolean,
): Readonly<Record<string, number>> {
  return Object.fromEntries(rules.map(({ name }) => [name, isMeant(name) ? costOf(name, cost) : 0]))
}

/** Returns the cost of one rule. Default: 1. */
export function costOf(rule: string, cost: Cost | undefined): number {
  if (typeof cost === 'object') return Object.hasOwn(cost, rule) ? cost[rule] : 1
  return cost ?? 1
}
