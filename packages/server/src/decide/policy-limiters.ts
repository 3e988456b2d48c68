// One limiter for each policy in use, over one store.
// Invariant: a changed policy is a new object and gets a new limiter. Counts live in the store and in the shared fallback store,
// under the names of the rules, so they survive a change of the policy and the eviction of its limiter.

import {
  createLimiter,
  type Decision,
  decide,
  type FailureOptions,
  type HoldsOption,
  holds,
  type Limiter,
  memoryStore,
  type Rule,
  type Store,
} from 'sluice'
import { createResponder, type Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { PolicyStats } from '../stats/policy-stats.ts'
import type { Stats } from '../stats/stats.ts'
import type { StoreHealth } from './store-health.ts'

/** A policy with its limiter. */
export interface PolicyLimiter {
  readonly policy: Policy
  readonly limiter: Limiter
  /** True if a rule has nothing but holds, so that the policy can only be reserved. */
  readonly needsReserve: boolean
  /** The decision of a policy with mode `off`: nothing is used. */
  readonly free: Decision
  /** Writes the headers for its decisions. */
  readonly responder: Responder
  policyStats: PolicyStats
}

export interface PolicyLimitersOptions {
  readonly store: Store
  readonly failure: Omit<FailureOptions, 'standIn'>
  /** Maximum number of fallback counters. */
  readonly fallbackKeys: number
  /** Maximum number of open holds of one rule and key. */
  readonly mostHolds: number
  readonly retryWithinMs?: number | undefined
  readonly stats: Stats
  readonly health: StoreHealth
}

/** Maximum number of limiters. Each takes about 3 kB. */
const MOST = 20_000

export class PolicyLimiters {
  readonly #options: PolicyLimitersOptions
  readonly #failure: FailureOptions
  readonly #holds: HoldsOption
  /** The fallback for a store that may fail. All policies share it. */
  readonly #fallbackStore: Store<'sync'> | undefined
  readonly #limiters = new Map<Policy, PolicyLimiter>()

  constructor(options: PolicyLimitersOptions) {
    const { store, failure, fallbackKeys, mostHolds } = options
    this.#options = options
    this.#holds = holds({ most: mostHolds })
    const needsFallback = store.guard !== undefined && failure.then === 'local'
    this.#fallbackStore = needsFallback ? memoryStore({ clock: store.clock, maxKeys: fallbackKeys }) : undefined
    // A limiter prepares its own store for holds, and not the stand-in that it is given.
    if (this.#fallbackStore !== undefined) this.#holds.prepare(this.#fallbackStore)
    this.#failure = this.#fallbackStore === undefined ? failure : { ...failure, standIn: this.#fallbackStore }
  }

  close(): void {
    this.#fallbackStore?.close()
  }

  limiterFor(policy: Policy): PolicyLimiter {
    const known = this.#limiters.get(policy)
    if (known === undefined) return this.#make(policy)
    if (!known.policyStats.isCurrent) known.policyStats = this.#options.stats.statsOf(policy.name)
    return known
  }

  /** Makes a limiter over the same store, with the same fallback. */
  makeLimiter(rules: readonly Rule[]): Limiter {
    const { store, health, retryWithinMs } = this.#options
    const limiter = createLimiter({ rules, store, failure: this.#failure, retryWithinMs, holds: this.#holds })
    limiter.on('failure', (event) => health.failed(event))
    return limiter
  }

  #make(policy: Policy): PolicyLimiter {
    const { stats } = this.#options
    const { rules } = policy
    const limiter = this.makeLimiter(rules)
    const free = decide(
      rules,
      rules.flatMap(() => [0, 0, 0]),
    )
    const responder = createResponder({ rules })
    const needsReserve = rules.some(({ isHeld }) => isHeld === true)
    const made = { policy, limiter, needsReserve, free, responder, policyStats: stats.statsOf(policy.name) }
    if (this.#limiters.size >= MOST) this.#dropOldest()
    this.#limiters.set(policy, made)
    return made
  }

  #dropOldest(): void {
    const [[policy, { limiter }]] = this.#limiters
    this.#limiters.delete(policy)
    limiter.close()
  }
}
