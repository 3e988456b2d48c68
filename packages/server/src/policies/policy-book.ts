// All policies, and the choice of policies for a request. Policies of the file override those of the API, which override the default.
// Invariant: no two policies share a name. No two policies in force that apply as the most specific share patterns and conditions. The
// one called `default` covers everything. A policy of the API that the file overrides is kept, hidden, until the file no longer
// overrides it. An expired policy is listed, and not in force: each search first takes out policies whose time has come. If the clock steps
// back, it puts them in force again.

import { LIMITS } from '../contract/limits.ts'
import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { ExpiryQueue } from './expiry-queue.ts'
import { tooManyLayers } from './layer-count.ts'
import { builtInDefault, DEFAULT_POLICY, isBlock, type Policy } from './policy.ts'
import { PolicyIndex } from './policy-index.ts'
import type { Attributes } from './request-facts.ts'

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

const NO_LAYERS: readonly Policy[] = []

/** Holds policies in memory. Changes that must outlive the process go through PolicyKeeper, which owns the book. */
export class PolicyBook {
  #fromFile: ReadonlyMap<string, Policy> = new Map()
  readonly #fromApi = new Map<string, Policy>()
  /** Index of the API's policies that apply as the most specific, including hidden ones. */
  #apiIndex = new PolicyIndex()
  /** Policies by name, without hidden ones and with expired ones. */
  #listed = new Map<string, Policy>()
  /** Index of the policies in force that apply as the most specific, without the built-in default. */
  #index = new PolicyIndex()
  /** Index of the policies in force that always apply. */
  #layers = new PolicyIndex()
  /** Names of the listed policies, sorted. */
  #names: string[] = []
  readonly #expiries = new ExpiryQueue((policy) => this.#isKept(policy))
  #nextExpiryMs = Number.POSITIVE_INFINITY
  /** The latest expiry of the policies that were taken out of force. */
  #latestTakenMs = Number.NEGATIVE_INFINITY
  readonly #now: () => number

  constructor(now: () => number = () => Date.now()) {
    this.#now = now
    this.#rebuild()
  }

  /** Returns the most specific policy for a request; see policy-index.ts. There is always one. */
  find(clientId: string, route: string, attributes?: Attributes): Policy {
    this.#expire()
    return this.#index.find(clientId, route, attributes) ?? builtInDefault
  }

  /**
   * Returns the policies that apply to a request beside the most specific one, sorted by name. If there are too many, returns those that
   * deny everything, because the others are not asked then. Throws ERR_LAYERS if there is none.
   */
  layersFor(clientId: string, route: string, attributes?: Attributes): readonly Policy[] {
    this.#expire()
    if (this.#layers.size === 0) return NO_LAYERS
    const layers = this.#layers.all(clientId, route, attributes)
    if (layers.length <= LIMITS.mostLayers) return layers
    const blocks = layers.filter(isBlock)
    if (blocks.length > 0) return blocks
    const message = `${layers.length} policies with applies: always match this request, and ${LIMITS.mostLayers} are the maximum`
    throw new ServerError('ERR_LAYERS', message)
  }

  /** Returns all policies in force that match a request, whichever of them decide it. The built-in one is not among them. */
  matching(clientId: string, route: string, attributes?: Attributes): readonly Policy[] {
    this.#expire()
    const found = this.#index.all(clientId, route, attributes)
    return this.#layers.size === 0 ? found : [...found, ...this.#layers.all(clientId, route, attributes)]
  }

  /** Returns the policy in force that nothing but its name tells from `policy`. */
  alike(policy: Policy): Policy | undefined {
    this.#expire()
    return policy.applies === 'always' ? undefined : this.#index.get(policy)[0]
  }

  /** Returns the listed policies that were in force at a time and have expired since. */
  expiredSince(sinceMs: number): readonly Policy[] {
    const expired: Policy[] = []
    for (const policy of this.#listed.values()) {
      if (policy.expiresAtMs > sinceMs && this.isExpired(policy)) expired.push(policy)
    }
    return expired
  }

  get(name: string): Policy | undefined {
    return this.#listed.get(name)
  }

  /** Returns the policy in force with exactly these patterns, without conditions. */
  withPatterns(client: string, route: string): Policy | undefined {
    this.#expire()
    return this.#index.get({ client, route, conditions: [] })[0]
  }

  /** True if the time of the policy is over. */
  isExpired(policy: Policy): boolean {
    return this.msLeft(policy) === 0
  }

  /** Returns the time until a policy expires; Infinity if it does not. */
  msLeft({ expiresAtMs }: Policy): number {
    return expiresAtMs === Number.POSITIVE_INFINITY ? expiresAtMs : Math.max(0, expiresAtMs - this.#now())
  }

  get size(): number {
    return this.#listed.size
  }

  /** Policies of the API that the file overrides: it has a policy with the same name, or with the same patterns and conditions. */
  get hidden(): readonly Policy[] {
    return [...this.#fromApi.values()].filter((policy) => this.#listed.get(policy.name) !== policy)
  }

  /** Returns all listed policies, sorted by name. */
  all(): readonly Policy[] {
    return this.#names.map((name) => this.#listed.get(name) as Policy)
  }

  list({ search = '', after = '', limit = 100 }: PolicyListOptions = {}): PolicyPage {
    const wanted = search.toLowerCase()
    const policies: Policy[] = []
    let total = 0
    let next: string | undefined
    for (const name of this.#names) {
      const policy = this.#listed.get(name) as Policy
      if (!matches(policy, wanted)) continue
      total += 1
      if (name <= after) continue
      if (policies.length < Math.min(limit, LIMITS.mostListed)) policies.push(policy)
      else next ??= policies.at(-1)?.name
    }
    return { policies, total, next }
  }

  /** Returns the policy that a policy of the API would replace. Throws if it cannot be put. */
  checkPut(policy: Policy): Policy | undefined {
    const { name, client, route } = policy
    this.#expire()
    this.#refuseFromFile(name)
    const other = this.#alike(policy, this.#index) ?? this.#alike(policy, this.#apiIndex)
    if (other !== undefined && other.name !== name) {
      const conditions = policy.conditions.length === 0 ? '' : ', with the same conditions,'
      throw new ServerError(
        'ERR_POLICY_TAKEN',
        `the policy ${show(other.name)} has client ${show(client)} and route ${show(route)}${conditions} already: change that one`,
      )
    }
    const tooMany = tooManyLayers(policy, this.#layers)
    if (tooMany !== undefined) throw new ServerError('ERR_LAYERS', tooMany)
    const before = this.#listed.get(name)
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
    this.#addApi(policy)
    this.#list(policy)
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
    if (name === DEFAULT_POLICY) this.#list(builtInDefault)
    return policy
  }

  /** Replaces all policies of the API. */
  replaceApiPolicies(policies: Iterable<Policy>): void {
    this.#fromApi.clear()
    this.#apiIndex = new PolicyIndex()
    for (const policy of policies) this.#addApi(policy)
    this.#rebuild()
  }

  /** Replaces all policies of the file at once. Precondition: no two of them share a name, or patterns and conditions. */
  replaceFilePolicies(policies: readonly Policy[]): void {
    this.#fromFile = new Map(policies.map((policy) => [policy.name, policy]))
    for (const policy of policies) this.#expiries.add(policy)
    this.#rebuild()
  }

  #rebuild(): void {
    this.#listed = new Map()
    this.#index = new PolicyIndex()
    this.#layers = new PolicyIndex()
    for (const layer of [this.#fromFile.values(), this.#fromApi.values(), [builtInDefault]]) {
      for (const policy of layer) {
        if (this.#listed.has(policy.name) || this.#alike(policy, this.#index) !== undefined) continue
        this.#listed.set(policy.name, policy)
        this.#enforce(policy)
      }
    }
    this.#names = [...this.#listed.keys()].sort()
    this.#nextExpiryMs = this.#expiries.nextMs
  }

  /** Returns the policy of an index that nothing but its name tells from `policy`. */
  #alike(policy: Policy, index: PolicyIndex): Policy | undefined {
    return policy.applies === 'always' || this.isExpired(policy) ? undefined : index.get(policy)[0]
  }

  #addApi(policy: Policy): void {
    this.#fromApi.set(policy.name, policy)
    if (policy.applies !== 'always' && !this.isExpired(policy)) this.#apiIndex.add(policy)
    this.#expiries.add(policy)
    this.#nextExpiryMs = this.#expiries.nextMs
  }

  #list(policy: Policy): void {
    this.#names.splice(placeOf(policy.name, this.#names), 0, policy.name)
    this.#listed.set(policy.name, policy)
    this.#enforce(policy)
  }

  /** Puts a listed policy in force, unless it has expired. */
  #enforce(policy: Policy): void {
    if (policy.source !== 'built-in' && !this.isExpired(policy)) this.#indexOf(policy).add(policy)
  }

  #indexOf({ applies }: Policy): PolicyIndex {
    return applies === 'always' ? this.#layers : this.#index
  }

  #forget(name: string): void {
    const kept = this.#fromApi.get(name)
    if (kept !== undefined) this.#apiIndex.delete(kept)
    this.#fromApi.delete(name)
    const policy = this.#listed.get(name)
    if (policy === undefined) return
    this.#indexOf(policy).delete(policy)
    this.#listed.delete(name)
    this.#names.splice(placeOf(name, this.#names), 1)
  }

  /** True unless the policy was replaced or deleted. */
  #isKept(policy: Policy): boolean {
    return this.#fromApi.get(policy.name) === policy || this.#fromFile.get(policy.name) === policy
  }

  /** Takes policies out of force whose time is over. Each is taken once, so a search rarely does more than one comparison. */
  #expire(): void {
    if (this.#nextExpiryMs === Number.POSITIVE_INFINITY && this.#latestTakenMs === Number.NEGATIVE_INFINITY) return
    const nowMs = this.#now()
    if (nowMs < this.#latestTakenMs) this.#restoreExpired()
    if (nowMs < this.#nextExpiryMs) return
    for (let policy = this.#expiries.take(nowMs); policy !== undefined; policy = this.#expiries.take(nowMs)) {
      this.#latestTakenMs = policy.expiresAtMs
      this.#apiIndex.delete(policy)
      this.#indexOf(policy).delete(policy)
      const hidden = this.#apiIndex.get(policy)[0]
      if (hidden !== undefined && !this.#listed.has(hidden.name)) this.#list(hidden)
    }
    this.#nextExpiryMs = this.#expiries.nextMs
  }

  /** Starts anew after the clock has stepped back to before an expiry. Otherwise a block would be listed, and deny nothing. */
  #restoreExpired(): void {
    this.#latestTakenMs = Number.NEGATIVE_INFINITY
    this.#expiries.clear()
    for (const policy of this.#fromFile.values()) this.#expiries.add(policy)
    this.replaceApiPolicies([...this.#fromApi.values()])
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
