// Chooses the routes of a client that are worth showing: requested ones, ones in recent events, and ones that a policy names.
// The service keeps no list of a client's routes.

import type { PolicySpec } from '../../api/answers.ts'

/** True if a pattern matches a text. A pattern is exact or ends with a star. */
export function covers(pattern: string, text: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : pattern === text
}

/** Routes that policies name in full for this client. */
export function routesOfPolicies(policies: readonly PolicySpec[], clientId: string): string[] {
  return policies.filter(({ client, route }) => covers(client, clientId) && !route.endsWith('*')).map(({ route }) => route)
}

/** Removes duplicates, keeps the order, and returns at most `most`. */
export function distinct(routes: readonly string[], most: number): string[] {
  return [...new Set(routes)].slice(0, most)
}

/** By route, the policy that counts it together with other routes. Other routes have no entry. */
export type SharedBy = ReadonlyMap<string, string>

export function withShared(sharedBy: SharedBy, route: string, policy: string | undefined): SharedBy {
  if (sharedBy.get(route) === policy) return sharedBy
  const changed = new Map(sharedBy)
  if (policy === undefined) changed.delete(route)
  else changed.set(route, policy)
  return changed
}

/** Routes that share the counters of `route`, itself first. Empty if an earlier route shows these counters already. */
export function together(route: string, routes: readonly string[], sharedBy: SharedBy): readonly string[] {
  const policy = sharedBy.get(route)
  if (policy === undefined) return [route]
  const sharing = routes.filter((other) => sharedBy.get(other) === policy)
  return sharing[0] === route ? sharing : []
}
