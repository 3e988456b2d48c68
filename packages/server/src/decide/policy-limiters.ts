// One limiter for each policy that is in use, over one store.
// What must stay true: a policy that changed is another policy and gets a limiter of its own. Counts live in the store, under the
// names of the rules, so they survive the change, and also a limiter that had to make room for others.

import { createLimiter, type Decision, decide, type FailureOptions, type Limiter, type Mode, type Store } from 'sluice'
import { createResponder, type Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { Figures } from '../stats/figures.ts'
import type { Stats } from '../stats/stats.ts'
import type { StoreHealth } from './store-health.ts'

/** A policy, ready to decide. */
export interface PolicyLimiter {
  readonly policy: Policy
  readonly limiter: Limiter
  /** What a policy that is off answers: all is free. */
  readonly free: Decision
  /** Tells of its decisions in headers. */
  readonly responder: Responder
  figures: Figures
}

export interface PolicyLimitersOptions {
  readonly store: Store
  readonly failure: FailureOptions
  readonly stats: Stats
  readonly health: StoreHealth
}

/** Limiters kept. One beside a store that may fail holds about 20 kB to stand in for it; one over memory holds next to nothing. */
const MOST: Readonly<Record<Mode, number>> = { sync: 20_000, async: 2_000 }

export class PolicyLimiters {
  readonly #options: PolicyLimitersOptions
  readonly #limiters = new Map<Policy, PolicyLimiter>()

  constructor(options: PolicyLimitersOptions) {
    this.#options = options
  }

  of(policy: Policy): PolicyLimiter {
    const known = this.#limiters.get(policy)
    if (known === undefined) return this.#make(policy)
    if (!known.figures.isKept) known.figures = this.#options.stats.figuresOf(policy.name)
    return known
  }

  #make(policy: Policy): PolicyLimiter {
    const { store, failure, stats, health } = this.#options
    const { rules } = policy
    const limiter = createLimiter({ rules, store, failure })
    limiter.on('failure', (event) => health.failed(event))
    const free = decide(
      rules,
      rules.flatMap(() => [0, 0, 0]),
      'local',
    )
    const responder = createResponder({ rules, fallbackDenies: failure.then === 'deny' })
    const made = { policy, limiter, free, responder, figures: stats.figuresOf(policy.name) }
    if (this.#limiters.size >= MOST[store.mode]) this.#dropOldest()
    this.#limiters.set(policy, made)
    return made
  }

  #dropOldest(): void {
    const [[policy, { limiter }]] = this.#limiters
    this.#limiters.delete(policy)
    limiter.close()
  }
}
