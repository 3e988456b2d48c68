// Groups of clients. Clients that match the same client patterns have the same policies, so that the choice of a policy for a route can
// be made once for a group.
// Invariant: at most MOST_GROUPS groups. A client keeps its group.

import { PatternIndex } from '../../policies/pattern-index.ts'
import type { Policy } from '../../policies/policy.ts'

/** The group of clients beyond the maximum. They have no choice in common. */
export const NO_GROUP = -1

export const MOST_GROUPS = 64

export class ClientGroups {
  readonly #patterns = new PatternIndex<string>()
  /** True if all clients match the same patterns. */
  readonly #isOne: boolean
  /** Numbers of the groups by their patterns. */
  readonly #groups = new Map<string, number>()

  constructor(policies: readonly Policy[]) {
    for (const { client } of policies) this.#patterns.set(client, client)
    this.#isOne = policies.every(({ client }) => client === '*')
  }

  groupOf(clientId: string): number {
    if (this.#isOne) return 0
    const matching: string[] = []
    this.#patterns.each(clientId, (pattern) => {
      matching.push(pattern)
    })
    // Most clients match one pattern. A list begins with a bracket, and is never such a text.
    const id = matching.length === 1 ? `=${matching[0]}` : JSON.stringify(matching)
    const known = this.#groups.get(id)
    if (known !== undefined) return known
    if (this.#groups.size >= MOST_GROUPS) return NO_GROUP
    this.#groups.set(id, this.#groups.size)
    return this.#groups.size - 1
  }
}
