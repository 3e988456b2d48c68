// One limiter for each policy that is in use, over one store.
// Invariants: a policy that changed is another policy and gets a limiter of its own. Counts live in the store, and in the one store
// that stands in for it, under the names of the rules: they survive the change, and a limiter that had to make room for others.

import { createLimiter, type Decision, decide, type FailureOptions, type Limiter, memoryStore, type Store } from 'sluice'
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
  readonly failure: Omit<FailureOptions, 'standIn'>
  /** The most counters that stand in for those of the store. */
  readonly standInKeys: number
  readonly stats: Stats
  readonly health: StoreHealth
}

/** Limiters kept. Each holds about 3 kB. */
const MOST = 20_000

export class PolicyLimiters {
  readonly #options: PolicyLimitersOptions
  readonly #failure: FailureOptions
  /** Stands in for a store that may fail, for all policies together. */
  readonly #standIn: Store<'sync'> | undefined
  readonly #limiters = new Map<Policy, PolicyLimiter>()

  constructor(options: PolicyLimitersOptions) {
    const { store, failure, standInKeys } = options
    this.#options = options
    const needsStandIn = store.timing === 'async' && failure.then === 'local'
    this.#standIn = needsStandIn ? memoryStore({ clock: store.clock, maxKeys: standInKeys }) : undefined
    this.#failure = this.#standIn === undefined ? failure : { ...failure, standIn: this.#standIn }
  }

  close(): void {
    this.#standIn?.close()
  }

  of(policy: Policy): PolicyLimiter {
    const known = this.#limiters.get(policy)
    if (known === undefined) return this.#make(policy)
    if (!known.figures.isKept) known.figures = this.#options.stats.figuresOf(policy.name)
    return known
  }

  #make(policy: Policy): PolicyLimiter {
    const { store, stats, health } = this.#options
    const { rules } = policy
    const limiter = createLimiter({ rules, store, failure: this.#failure })
    limiter.on('failure', (event) => health.failed(event))
    const free = decide(
      rules,
      rules.flatMap(() => [0, 0, 0]),
    )
    const responder = createResponder({ rules })
    const made = { policy, limiter, free, responder, figures: stats.figuresOf(policy.name) }
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
