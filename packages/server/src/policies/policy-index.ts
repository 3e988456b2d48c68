// Finds the policy for a request: the most specific one that matches.
//
// | order | client           | route            | among several                              |
// | ----- | ---------------- | ---------------- | ------------------------------------------ |
// | 1     | exact            | exact            | there is one                               |
// | 2     | exact            | prefix, then any | the longest route                          |
// | 3     | prefix, then any | exact            | the longest client                         |
// | 4     | prefix, then any | prefix, then any | the longest client, then the longest route |
//
// Any (`*`) is the prefix of length 0, so it comes last wherever it stands, and `*` with `*` comes last of all.
// Invariant: no two policies have the same two patterns.

import { PatternIndex } from './pattern-index.ts'
import type { Policy } from './policy.ts'

export class PolicyIndex {
  readonly #byClient = new PatternIndex<PatternIndex<Policy>>()

  find(clientId: string, route: string): Policy | undefined {
    const own = this.#byClient.exact(clientId)
    const ofClient = own && (own.exact(route) ?? own.longest(route))
    if (ofClient !== undefined) return ofClient
    let byPattern: Policy | undefined
    const ofRoute = this.#byClient.firstOf(clientId, (routes) => {
      byPattern ??= routes.longest(route)
      return routes.exact(route)
    })
    return ofRoute ?? byPattern
  }

  /** Returns the policy with exactly these patterns. */
  get(client: string, route: string): Policy | undefined {
    return this.#byClient.get(client)?.get(route)
  }

  set(policy: Policy): void {
    let routes = this.#byClient.get(policy.client)
    if (routes === undefined) {
      routes = new PatternIndex()
      this.#byClient.set(policy.client, routes)
    }
    routes.set(policy.route, policy)
  }

  delete({ client, route }: Policy): void {
    const routes = this.#byClient.get(client)
    routes?.delete(route)
    if (routes?.isEmpty) this.#byClient.delete(client)
  }
}
