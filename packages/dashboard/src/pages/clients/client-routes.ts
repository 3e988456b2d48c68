// Which routes of a client are worth looking at: those it was asked for, those it was seen on, those that a policy names.
// The service keeps no list of a client's routes, so this is what can be known.

import type { PolicySpec } from '../../api/answers.ts'

/** Whether a pattern, exact or with a star at its end, covers a text. */
export function covers(pattern: string, text: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : pattern === text
}

/** Routes that are written out in policies for this client. */
export function routesOfPolicies(policies: readonly PolicySpec[], clientId: string): string[] {
  return policies.filter(({ client, route }) => covers(client, clientId) && !route.endsWith('*')).map(({ route }) => route)
}

/** Each once, in the order given; at most `most`. */
export function distinct(routes: readonly string[], most: number): string[] {
  return [...new Set(routes)].slice(0, most)
}

/** The policy that counts a route together with others, by route. Other routes have no entry. */
export type SharedBy = ReadonlyMap<string, string>

export function withShared(sharedBy: SharedBy, route: string, policy: string | undefined): SharedBy {
  if (sharedBy.get(route) === policy) return sharedBy
  const changed = new Map(sharedBy)
  if (policy === undefined) changed.delete(route)
  else changed.set(route, policy)
  return changed
}

/** Routes that share the counters of one, itself first; empty if an earlier route shows them already. */
export function together(route: string, routes: readonly string[], sharedBy: SharedBy): readonly string[] {
  const policy = sharedBy.get(route)
  if (policy === undefined) return [route]
  const sharing = routes.filter((other) => sharedBy.get(other) === policy)
  return sharing[0] === route ? sharing : []
}
