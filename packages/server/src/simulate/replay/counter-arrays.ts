// The counter arrays of a set of policies, and the choice of a counter array for a request.
// Invariant: a counter array is chosen for a key always or never, because its counters are not those of the store. So there are such
// arrays only if the policy of a client and a route is the same at all times, and arrays, clients and routes are numbered for ever.

import type { Policy } from '../../policies/policy.ts'
import type { PolicyBook } from '../../policies/policy-book.ts'
import { ClientGroups, NO_GROUP } from './client-groups.ts'
import { CounterArray, fitsArray } from './counter-array.ts'

/** The group of a client that was not looked up yet. Numbers of groups start at 0. */
const UNKNOWN_GROUP = -2

export interface CounterArraysOptions<N> {
  readonly policies: PolicyBook
  /** Maximum number of counter arrays. */
  readonly most: number
  /** Makes the notes of a counter array. */
  readonly note: (policy: Policy) => N
}

export class CounterArrays<N> {
  readonly #options: CounterArraysOptions<N>
  /** True if the policy of a request depends on client and route alone, and is the only one that applies. */
  readonly #isConstant: boolean
  readonly #groups: ClientGroups
  #groupOfClient = new Int8Array(256).fill(UNKNOWN_GROUP)
  /** Counter arrays by group and by number of the route. Null if there is none. */
  readonly #choices: (CounterArray<N> | null | undefined)[][] = []
  readonly #arrays = new Map<string, CounterArray<N>>()

  constructor(options: CounterArraysOptions<N>) {
    const policies = options.most === 0 ? [] : options.policies.all()
    this.#options = options
    this.#isConstant = policies.every(
      ({ applies, conditions, expiresAtMs }) =>
        applies !== 'always' && conditions.length === 0 && expiresAtMs === Number.POSITIVE_INFINITY,
    )
    this.#groups = new ClientGroups(policies)
  }

  /** Returns the counter array of a request; undefined if it has none. Clients and routes have numbers from 0 on. */
  find(
    client: number,
    route: number,
    { clientId, route: routeText }: { clientId: string; route: string },
  ): CounterArray<N> | undefined {
    if (client < 0 || route < 0 || !this.#isConstant || this.#options.most === 0) return undefined
    let group = client < this.#groupOfClient.length ? this.#groupOfClient[client] : UNKNOWN_GROUP
    if (group === UNKNOWN_GROUP) group = this.#learnGroup(client, clientId)
    if (group === NO_GROUP) return undefined
    const array = this.#choices[group][route]
    return (array === undefined ? this.#choose(group, route, clientId, routeText) : array) ?? undefined
  }

  #learnGroup(client: number, clientId: string): number {
    if (client >= this.#groupOfClient.length) {
      const larger = new Int8Array(Math.max(client + 1, this.#groupOfClient.length * 2)).fill(UNKNOWN_GROUP)
      larger.set(this.#groupOfClient)
      this.#groupOfClient = larger
    }
    const group = this.#groups.groupOf(clientId)
    this.#groupOfClient[client] = group
    if (group === this.#choices.length) this.#choices.push([])
    return group
  }

  #choose(group: number, route: number, clientId: string, routeText: string): CounterArray<N> | null {
    const choices = this.#choices[group]
    while (choices.length <= route) choices.push(undefined)
    const policy = this.#options.policies.find(clientId, routeText)
    const array = fitsArray(policy) ? this.#arrayOf(policy, routeText) : null
    choices[route] = array
    return array
  }

  #arrayOf(policy: Policy, route: string): CounterArray<N> | null {
    const id = JSON.stringify([policy.name, policy.scope === 'route' ? route : null])
    const known = this.#arrays.get(id)
    if (known !== undefined) return known
    if (this.#arrays.size >= this.#options.most) return null
    const array = new CounterArray(policy, this.#options.note(policy))
    this.#arrays.set(id, array)
    return array
  }
}
