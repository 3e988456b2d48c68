// Costs by rule name.

import type { Rule } from '../../core/rule.ts'
import type { Cost } from '../../core/subject.ts'

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
