// One limiter for each policy in use whose rules all count by one key.
// Invariant: a changed policy is a new object and gets a new limiter. Counts survive a change of the policy and the eviction of its
// limiter; see limiter-maker.ts.

import type { Decision, Limiter } from 'sluice'
import { createResponder, type Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { PolicyStats } from '../stats/policy-stats.ts'
import type { Stats } from '../stats/stats.ts'
import { freeDecision } from './blocks.ts'
import type { LimiterMaker } from './limiter-maker.ts'

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

/** Maximum number of limiters. Each takes about 3 kB. */
const MOST = 20_000

export class PolicyLimiters {
  readonly #maker: LimiterMaker
  readonly #stats: Stats
  readonly #limiters = new Map<Policy, PolicyLimiter>()

  constructor(maker: LimiterMaker, stats: Stats) {
    this.#maker = maker
    this.#stats = stats
  }

  /** Precondition: the policy is plain. */
  limiterFor(policy: Policy): PolicyLimiter {
    const known = this.#limiters.get(policy)
    if (known === undefined) return this.#make(policy)
    if (!known.policyStats.isCurrent) known.policyStats = this.#stats.statsOf(policy.name)
    return known
  }

  #make(policy: Policy): PolicyLimiter {
    const { rules } = policy
    const limiter = this.#maker.make(rules)
    const free = freeDecision(policy)
    const responder = createResponder({ rules })
    const needsReserve = rules.some(({ isHeld }) => isHeld === true)
    const made = { policy, limiter, needsReserve, free, responder, policyStats: this.#stats.statsOf(policy.name) }
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
