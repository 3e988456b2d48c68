// Makes limiters over the service's one store, with one fallback store for all of them.
// Invariant: counts live in the store and in the fallback store, under algorithm, name of the rule and key. A limiter keeps none, so
// they survive when it is dropped.

import {
  createLimiter,
  type FailureOptions,
  type HoldsOption,
  holds,
  type Limiter,
  memoryStore,
  type Rule,
  type Store,
  type Subject,
} from 'sluice'
import type { StoreHealth } from './store-health.ts'

export interface LimiterMakerOptions {
  readonly store: Store
  readonly failure: Omit<FailureOptions, 'standIn'>
  /** Maximum number of fallback counters. */
  readonly fallbackKeys: number
  /** Maximum number of open holds of one rule and key. */
  readonly mostHolds: number
  readonly retryWithinMs?: number | undefined
  readonly health: StoreHealth
}

/** A rule with its name in a decision, and the place of its key among the keys of a subject. */
export interface KeyedRule {
  readonly rule: Rule
  readonly label: string
  readonly slot: number
}

export class LimiterMaker {
  readonly retryWithinMs: number
  readonly #options: LimiterMakerOptions
  readonly #holds: HoldsOption
  /** The fallback for a store that may fail. All limiters share it. */
  readonly #fallbackStore: Store<'sync'> | undefined

  constructor(options: LimiterMakerOptions) {
    const { store, failure, fallbackKeys, mostHolds, retryWithinMs = Number.MAX_SAFE_INTEGER } = options
    this.#options = options
    this.retryWithinMs = retryWithinMs
    this.#holds = holds({ most: mostHolds })
    const needsFallback = store.guard !== undefined && failure.then === 'local'
    this.#fallbackStore = needsFallback ? memoryStore({ clock: store.clock, maxKeys: fallbackKeys }) : undefined
    // A limiter prepares only a store that it is given itself.
    this.#holds.prepare(store)
    if (this.#fallbackStore !== undefined) this.#holds.prepare(this.#fallbackStore)
  }

  close(): void {
    this.#fallbackStore?.close()
  }

  /** Makes a limiter whose rules all count by the same key. */
  make(rules: readonly Rule[]): Limiter {
    return this.#make(rules, this.#options.store, this.#fallbackStore) as Limiter
  }

  /**
   * Makes a limiter whose rules count by keys of their own. A subject has the keys by slot: `{ 0: 'r3:ada/a', 1: '…' }`. States are
   * those of the rules themselves, so `make` finds the same counts.
   */
  makeKeyed(keyed: readonly KeyedRule[]): Limiter<'sync' | 'async', Subject> {
    const known = new Map<Rule, Rule>()
    for (const { rule, label, slot } of keyed) {
      const name = { value: label, enumerable: true }
      known.set(Object.create(rule, { name, per: { value: [`${slot}`], enumerable: true } }), rule)
    }
    const { store } = this.#options
    const standIn = this.#fallbackStore && withRules(this.#fallbackStore, known)
    return this.#make([...known.keys()], withRules(store, known), standIn)
  }

  #make(rules: readonly Rule[], store: Store, standIn: Store<'sync'> | undefined): Limiter<'sync' | 'async', Subject> {
    const { failure, retryWithinMs, health } = this.#options
    const limiter = createLimiter({
      rules,
      store,
      failure: standIn === undefined ? failure : { ...failure, standIn },
      retryWithinMs,
      holds: this.#holds,
    })
    limiter.on('failure', (event) => health.failed(event))
    return limiter
  }
}

/** Returns a view of a store that counts under the rules that `known` has for a limiter's rules. */
function withRules<S extends Store>(store: S, known: ReadonlyMap<Rule, Rule>): S {
  const view: Store = {
    timing: store.timing,
    clock: store.clock,
    tally: (rules) => store.tally(rules.map((rule) => known.get(rule) as Rule)),
    clean: () => store.clean(),
    get size() {
      return store.size
    },
    close: () => store.close(),
    ...(store.guard !== undefined && { guard: (context) => (store.guard as NonNullable<Store['guard']>)(context) }),
  }
  return view as S
}
