// All policies, and the choice of a policy for a request. Policies of the file override those of the API, which override the default.
// Invariant: no two policies in force share a name or both patterns, and one called `default` covers everything.
// A policy of the API that the file overrides is kept, hidden, until the file no longer overrides it.

import { LIMITS } from '../contract/limits.ts'
import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { builtInDefault, DEFAULT_POLICY, type Policy } from './policy.ts'
import { PolicyIndex } from './policy-index.ts'

export interface PolicyListOptions {
  /** Only policies with this text in name, client or route, ignoring case. */
  readonly search?: string
  /** Only policies whose name sorts after this one. */
  readonly after?: string
  /** Policies at most: 1 to 1,000. Default: 100. */
  readonly limit?: number
}

export interface PolicyPage {
  /** Sorted by name. */
  readonly policies: readonly Policy[]
  /** Number of policies that match the search, on all pages. */
  readonly total: number
  /** The `after` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

/** Bounds memory: a million policies take about a gigabyte. */
const MOST_POLICIES = 1_000_000

/** Holds policies in memory. Changes that must outlive the process go through PolicyKeeper, which owns the book. */
export class PolicyBook {
  #fromFile: ReadonlyMap<string, Policy> = new Map()
  readonly #fromApi = new Map<string, Policy>()
  /** Index of the API's policies, including hidden ones. */
  #apiIndex = new PolicyIndex()
  #inForce = new Map<string, Policy>()
  #index = new PolicyIndex()
  /** Names of the policies in force, sorted. */
  #names: string[] = []

  constructor() {
    this.#rebuild()
  }

  /** Returns the most specific policy for a request; see policy-index.ts. There is always one. */
  find(clientId: string, route: string): Policy {
    return this.#index.find(clientId, route) as Policy
  }

  get(name: string): Policy | undefined {
    return this.#inForce.get(name)
  }

  /** Returns the policy with exactly these patterns. */
  withPatterns(client: string, route: string): Policy | undefined {
    return this.#index.get(client, route)
  }

  get size(): number {
    return this.#inForce.size
  }

  /** Policies of the API that are not in force, because the file has a policy with the same name or patterns. */
  get hidden(): readonly Policy[] {
    return [...this.#fromApi.values()].filter((policy) => this.#inForce.get(policy.name) !== policy)
  }

  list({ search = '', after = '', limit = 100 }: PolicyListOptions = {}): PolicyPage {
    const wanted = search.toLowerCase()
    const policies: Policy[] = []
    let total = 0
    let next: string | undefined
    for (const name of this.#names) {
      const policy = this.#inForce.get(name) as Policy
      if (!matches(policy, wanted)) continue
      total += 1
      if (name <= after) continue
      if (policies.length < Math.min(limit, LIMITS.mostListed)) policies.push(policy)
      else next ??= policies.at(-1)?.name
    }
    return { policies, total, next }
  }

  /** Returns the policy that a policy of the API would replace. Throws if it cannot be put. */
  checkPut({ name, client, route }: Policy): Policy | undefined {
    this.#refuseFromFile(name)
    const other = this.#index.get(client, route) ?? this.#apiIndex.get(client, route)
    if (other !== undefined && other.name !== name) {
      throw new ServerError(
        'ERR_POLICY_TAKEN',
        `the policy ${show(other.name)} has client ${show(client)} and route ${show(route)} already: change that one`,
      )
    }
    const before = this.#inForce.get(name)
    if (before === undefined && this.#fromApi.size >= MOST_POLICIES) {
      throw new ServerError('ERR_FULL', `there are ${MOST_POLICIES} policies, which is the maximum`)
    }
    return before
  }

  /** Adds or replaces a policy of the API. Returns the policy of that name that was in force. Throws before any change. */
  put(policy: Policy): Policy | undefined {
    const before = this.checkPut(policy)
    const { name } = policy
    this.#forget(name)
    this.#fromApi.set(name, policy)
    this.#apiIndex.set(policy)
    this.#enforce(policy)
    return before
  }

  /** Returns the policy of the API that a deletion would remove. Throws if it cannot be deleted. */
  checkDelete(name: string): Policy {
    this.#refuseFromFile(name)
    const policy = this.#fromApi.get(name)
    if (policy === undefined && name === DEFAULT_POLICY) {
      throw new ServerError(
        'ERR_POLICY_BUILT_IN',
        'the built-in default cannot be deleted: put a policy called default in its place',
      )
    }
    if (policy === undefined) throw new ServerError('ERR_POLICY_UNKNOWN', `no policy is called ${show(name)}`)
    return policy
  }

  /** Removes and returns a policy of the API. Throws before any change. */
  delete(name: string): Policy {
    const policy = this.checkDelete(name)
    this.#forget(name)
    if (name === DEFAULT_POLICY) this.#enforce(builtInDefault)
    return policy
  }

  /** Replaces all policies of the API. */
  replaceApiPolicies(policies: Iterable<Policy>): void {
    this.#fromApi.clear()
    this.#apiIndex = new PolicyIndex()
    for (const policy of policies) {
      this.#fromApi.set(policy.name, policy)
      this.#apiIndex.set(policy)
    }
    this.#rebuild()
  }

  /** Replaces all policies of the file at once. Precondition: no two of them share a name or both patterns. */
  replaceFilePolicies(policies: readonly Policy[]): void {
    this.#fromFile = new Map(policies.map((policy) => [policy.name, policy]))
    this.#rebuild()
  }

  #rebuild(): void {
    this.#inForce = new Map()
    this.#index = new PolicyIndex()
    for (const layer of [this.#fromFile.values(), this.#fromApi.values(), [builtInDefault]]) {
      for (const policy of layer) {
        const isTaken = this.#inForce.has(policy.name) || this.#index.get(policy.client, policy.route) !== undefined
        if (isTaken) continue
        this.#inForce.set(policy.name, policy)
        this.#index.set(policy)
      }
    }
    this.#names = [...this.#inForce.keys()].sort()
  }

  #enforce(policy: Policy): void {
    this.#names.splice(placeOf(policy.name, this.#names), 0, policy.name)
    this.#inForce.set(policy.name, policy)
    this.#index.set(policy)
  }

  #forget(name: string): void {
    const kept = this.#fromApi.get(name)
    if (kept !== undefined) this.#apiIndex.delete(kept)
    this.#fromApi.delete(name)
    const policy = this.#inForce.get(name)
    if (policy === undefined) return
    this.#index.delete(policy)
    this.#inForce.delete(name)
    this.#names.splice(placeOf(name, this.#names), 1)
  }

  #refuseFromFile(name: string): void {
    if (!this.#fromFile.has(name)) return
    throw new ServerError('ERR_POLICY_FROM_FILE', `the policy ${show(name)} comes from the configuration file: change it there`)
  }
}

/** Returns the index of a name in sorted names, or the index where it belongs. */
function placeOf(name: string, names: readonly string[]): number {
  let low = 0
  let high = names.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (names[middle] < name) low = middle + 1
    else high = middle
  }
  return low
}

function matches({ name, client, route }: Policy, wanted: string): boolean {
  if (wanted === '') return true
  return [name, client, route].some((text) => text.toLowerCase().includes(wanted))
}
