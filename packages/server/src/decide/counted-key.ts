// The limiter's key for a rule: the part of a request that the rule counts by.
// Invariant: different parts give different keys, whatever the names contain, and keys of the three kinds never collide.

import type { Policy } from '../policies/policy.ts'
import type { RequestFacts } from '../policies/request-facts.ts'

/**
 * Returns the key of rules that count as the policy's scope says. The length of the first part is included, so that its end does not
 * depend on its content. With scope `route`, the policy's name is not part of the key: if another policy becomes responsible, the
 * client keeps its usage.
 */
export function countedKey(policy: Pick<Policy, 'scope' | 'name'>, clientId: string, route: string): string {
  if (policy.scope === 'route') return `r${clientId.length}:${clientId}${route}`
  return `p${policy.name.length}:${policy.name}${clientId}`
}

/** The keys that a rule of a policy that always applies counts by, if it names none itself. */
export const PER_OF_SCOPE = { route: ['client', 'route'], policy: ['client'] } as const

/**
 * Returns the key of a rule with `per`, or of a policy that always applies. Such a rule counts under the name of its policy, so that it
 * shares no count with another policy that applies to the same request. Precondition: the request has the attributes.
 */
export function keyPer(policy: Pick<Policy, 'name'>, per: readonly string[], facts: RequestFacts): string {
  let key = `n${policy.name.length}:${policy.name}${per.join()}=`
  for (const name of per) {
    const text = textOf(name, facts)
    key += `${text.length}:${text}`
  }
  return key
}

function textOf(name: string, { clientId, route, attributes }: RequestFacts): string {
  if (name === 'client') return clientId
  return name === 'route' ? route : (attributes as Readonly<Record<string, string>>)[name]
}
