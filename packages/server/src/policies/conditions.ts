// The conditions of a policy on the attributes of a request, and the order of policies by their conditions.
//
// | order | among policies with the same client and route pattern that match |
// | ----- | ---------------------------------------------------------------- |
// | 1     | more conditions                                                  |
// | 2     | more exact conditions                                            |
// | 3     | longer prefixes, summed over all conditions                      |
// | 4     | the name of the policy that sorts first                          |

import { REQUEST_KEYS } from './policy-schema.ts'

/** A pattern for the value of one attribute. */
export interface Condition {
  readonly attribute: string
  readonly pattern: string
}

/** The part of a policy that its conditions come from. */
export interface Conditional {
  readonly name: string
  /** Sorted by attribute, each attribute once. */
  readonly conditions: readonly Condition[]
}

/**
 * Returns the conditions of a policy, sorted by attribute. A rule that counts by an attribute adds the condition that the request has
 * it, with any value.
 */
export function conditionsOf(where: Readonly<Record<string, string>>, counted: Iterable<string>): readonly Condition[] {
  const patterns = new Map(Object.entries(where))
  for (const key of counted) if (!isRequestKey(key) && !patterns.has(key)) patterns.set(key, '*')
  const attributes = [...patterns.keys()].sort()
  return attributes.map((attribute) => ({ attribute, pattern: patterns.get(attribute) as string }))
}

/** True for a key that every request has. */
export function isRequestKey(key: string): boolean {
  return (REQUEST_KEYS as readonly string[]).includes(key)
}

/** Returns a negative number if `a` is more specific than `b`, by the table above. */
export function compareConditions(a: Conditional, b: Conditional): number {
  return (
    b.conditions.length - a.conditions.length ||
    exactCount(b) - exactCount(a) ||
    prefixLength(b) - prefixLength(a) ||
    (a.name < b.name ? -1 : 1)
  )
}

/** Returns a text that is equal for equal conditions, and for no others. */
export function conditionsText(conditions: readonly Condition[]): string {
  return JSON.stringify(conditions.map(({ attribute, pattern }) => [attribute, pattern]))
}

function exactCount({ conditions }: Conditional): number {
  return conditions.filter(({ pattern }) => !pattern.endsWith('*')).length
}

function prefixLength({ conditions }: Conditional): number {
  return conditions.reduce((sum, { pattern }) => sum + (pattern.endsWith('*') ? pattern.length - 1 : 0), 0)
}
