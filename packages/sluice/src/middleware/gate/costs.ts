// Costs by rule name.

import type { Rule } from '../../core/rule.ts'
import type { Cost } from '../../core/subject.ts'

/** The cost of each rule, and 0 for those that `isMeant` leaves out. */
export function costsOf(
  rules: readonly Rule[],
  cost: Cost | undefined,
  isMeant: (rule: string) => boolean,
): Readonly<Record<string, number>> {
  return Object.fromEntries(rules.map(({ name }) => [name, isMeant(name) ? costOf(name, cost) : 0]))
}

/** The cost of one rule: 1 unless the costs say otherwise. */
export function costOf(rule: string, cost: Cost | undefined): number {
  if (typeof cost === 'object') return Object.hasOwn(cost, rule) ? cost[rule] : 1
  return cost ?? 1
}
