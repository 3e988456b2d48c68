// Finds the policies for a request: the most specific one that matches, or all that match.
//
// | order | client           | route            | among several                              |
// | ----- | ---------------- | ---------------- | ------------------------------------------ |
// | 1     | exact            | exact            | there is one pair of patterns              |
// | 2     | exact            | prefix, then any | the longest route                          |
// | 3     | prefix, then any | exact            | the longest client                         |
// | 4     | prefix, then any | prefix, then any | the longest client, then the longest route |
//
// Any (`*`) is the prefix of length 0, so it comes last wherever it stands, and `*` with `*` comes last of all.
// Among policies with the same two patterns, the conditions on attributes decide: see conditions.ts. If the request meets the conditions
// of none of them, the search goes on with the next pair of patterns.

import { type ConditionIndex, makeIndex } from './condition-index.ts'
import { PatternIndex } from './pattern-index.ts'
import type { Policy } from './policy.ts'
import type { Attributes } from './request-facts.ts'

/** Policies by client pattern, then by route pattern, then by conditions. */
type Routes = PatternIndex<ConditionIndex>

export class PolicyIndex {
  readonly #byClient = new PatternIndex<Routes>()
  #size = 0

  get size(): number {
    return this.#size
  }

  find(clientId: string, route: string, attributes?: Attributes): Policy | undefined {
    const own = this.#byClient.exact(clientId)
    const ofClient = own && (own.exact(route)?.find(attributes) ?? own.firstOf(route, findIn, attributes))
    if (ofClient !== undefined) return ofClient
    let byPattern: Policy | undefined
    const ofRoute = this.#byClient.firstOf(clientId, (routes) => {
      byPattern ??= routes.firstOf(route, findIn, attributes)
      return routes.exact(route)?.find(attributes)
    })
    return ofRoute ?? byPattern
  }

  /** Returns all policies that match, sorted by name. */
  all(clientId: string, route: string, attributes?: Attributes): readonly Policy[] {
    const found: Policy[] = []
    this.#byClient.each(clientId, (routes) => routes.each(route, (each) => each.addAll(attributes, found)))
    return found.length < 2 ? found : found.sort(byName)
  }

  /** Returns the policies with exactly these patterns and conditions. */
  get({ client, route, conditions }: Pick<Policy, 'client' | 'route' | 'conditions'>): readonly Policy[] {
    return this.#byClient.get(client)?.get(route)?.get(conditions) ?? []
  }

  add(policy: Policy): void {
    this.#byClient.getOrMake(policy.client, makeRoutes).getOrMake(policy.route, makeIndex).add(policy)
    this.#size += 1
  }

  /** Deletes a policy, if the index has it. */
  delete(policy: Policy): void {
    if (!this.get(policy).includes(policy)) return
    const { client, route } = policy
    const routes = this.#byClient.get(client)
    const conditions = routes?.get(route)
    conditions?.delete(policy)
    if (conditions?.isEmpty) routes?.delete(route)
    if (routes?.isEmpty) this.#byClient.delete(client)
    this.#size -= 1
  }
}

function findIn(index: ConditionIndex, attributes: Attributes | undefined): Policy | undefined {
  return index.find(attributes)
}

function makeRoutes(): Routes {
  return new PatternIndex()
}

function byName(a: Policy, b: Policy): number {
  return a.name < b.name ? -1 : 1
}
