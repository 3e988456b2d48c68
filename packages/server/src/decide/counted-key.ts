// The limiter's key for a check: a client and a route, or a client over all routes of a policy.
// Invariant: different pairs give different keys, whatever the names contain, and keys of the two kinds never collide.

import type { Policy } from '../policies/policy.ts'

/**
 * The length of the first part is included, so that its end does not depend on its content. With scope `route`, the policy's name is
 * not part of the key: if another policy becomes responsible, the client keeps its usage.
 */
export function countedKey(policy: Pick<Policy, 'scope' | 'name'>, clientId: string, route: string): string {
  if (policy.scope === 'route') return `r${clientId.length}:${clientId}${route}`
  return `p${policy.name.length}:${policy.name}${clientId}`
}
