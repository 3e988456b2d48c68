// Whom a limiter counts for a check: a client and a route, or a client over all the routes of a policy.
// What must stay true: no two different pairs give one key, whatever is in the names, and the two kinds never meet.

import type { Policy } from '../policies/policy.ts'

/**
 * The first part goes in with its length, so that where it ends is not up to what is in it. A policy's name is part of the
 * key only where the policy is what is counted: a client and route that gets another policy keeps what it has used.
 */
export function countedKey(policy: Policy, clientId: string, route: string): string {
  if (policy.scope === 'route') return `r${clientId.length}:${clientId}${route}`
  return `p${policy.name.length}:${policy.name}${clientId}`
}
