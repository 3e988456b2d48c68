// Holds of the service: reserves units under the policy of a request, and settles, cancels or extends them later, on any instance.
// Invariant: the store decides if a hold is open, so a hold ends once, whichever instances are asked. A policy that changed
// meanwhile does not matter: a hold is found by its id, under the names of its rules.

import type { Cost, Decision, Duration, HeldUnits, Hold, ReserveOptions } from 'sluice'
import { SluiceError } from 'sluice'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import { type HoldEnd, settleEvent } from '../stats/hold-counts.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { countedKey } from './counted-key.ts'
import type { CheckResult } from './decider.ts'
import { fullHeld, shortHeld } from './held-text.ts'
import { type KnownHold, KnownHolds, listedId } from './known-holds.ts'
import type { PolicyLimiter, PolicyLimiters } from './policy-limiters.ts'

/** A request to hold units. */
export interface ReserveRequest extends RequestFacts, Pick<ReserveOptions, 'hold' | 'cost' | 'atLeast' | 'ttl' | 'expired'> {}

/** The facts in a hold token. */
export interface NamedHold {
  readonly clientId: string
  readonly route: string
  /** The policy whose routes are counted together; empty if the route is counted alone. */
  readonly countedBy: string
  /** Names the hold for the library, in short form. Empty if nothing is held, as under a policy that is off: there is nothing to end. */
  readonly held: string
}

export interface ReserveResult extends CheckResult {
  /** Set if the request is allowed. */
  readonly hold: (NamedHold & Pick<Hold, 'granted' | 'expiresAt'>) | undefined
}

type Units = Readonly<Record<string, number>>

export interface ReservationsOptions {
  readonly policies: PolicyBook
  readonly limiters: PolicyLimiters
  readonly stats: Stats
  /** Records a decision and applies the policy's mode. */
  readonly resultOf: (entry: PolicyLimiter, check: CheckedRequest, decision: Decision, startMs: number) => CheckResult
  /** Reports an answer of the store. */
  readonly answered: (decision: Decision, startMs: number) => void
}

export class Reservations {
  readonly #options: ReservationsOptions
  readonly #known: KnownHolds

  constructor(options: ReservationsOptions) {
    const { stats } = options
    this.#options = options
    this.#known = new KnownHolds(
      () => stats.now(),
      ({ policy }) => stats.statsOf(policy).holds.add('expired'),
    )
  }

  /** Number of open holds that this instance knows. */
  get open(): number {
    return this.#known.size
  }

  /** Decides and holds. Rejects if the store failed and there is no fallback, or with ERR_HOLDS. */
  async reserve({ clientId, route, ...options }: ReserveRequest): Promise<ReserveResult> {
    const { policies, limiters, stats, resultOf, answered } = this.#options
    const startMs = performance.now()
    const policy = policies.find(clientId, route)
    const entry = limiters.limiterFor(policy)
    const check = { clientId, route, cost: largest(options) }
    const nothing = { clientId, route, countedBy: '', held: '', granted: {}, expiresAt: 0 }
    if (policy.mode === 'off') return { ...resultOf(entry, check, entry.free, startMs), hold: nothing }
    const counter = countedKey(policy, clientId, route)
    let hold: Hold
    try {
      hold = await entry.limiter.reserve(counter, options)
    } catch (error) {
      const code = error instanceof SluiceError ? error.code : ''
      if (code === 'ERR_HOLDS') entry.policyStats.holds.add('refused')
      else if (code.startsWith('ERR_STORE')) stats.recordError(entry.policyStats)
      throw error
    }
    answered(hold.decision, startMs)
    const result = resultOf(entry, check, hold.decision, startMs)
    if (!result.allowed) return { ...result, hold: undefined }
    // In shadow mode a denial is allowed, and a fallback may count nothing. Then nothing is held.
    if (hold.token === '') return { ...result, hold: nothing }
    const { granted, expiresAt } = hold
    const named = {
      clientId,
      route,
      countedBy: policy.scope === 'policy' ? policy.name : '',
      held: shortHeld(hold.token, counter),
    }
    entry.policyStats.holds.add('opened')
    const ofFallback = hold.decision.source === 'fallback' ? { ofFallback: hold } : {}
    const facts = { policy: policy.name, counter, granted, openedAt: stats.now(), expiresAt }
    this.#known.add({ ...named, ...facts, id: listedId(named.held), ...ofFallback })
    return { ...result, hold: { ...named, granted, expiresAt } }
  }

  /** Ends a hold and charges what was used. Rejects with ERR_HOLD if it has ended. */
  async settle(named: NamedHold, used: Cost | undefined): Promise<{ readonly policy: Policy; readonly used: Units }> {
    const { entry, hold } = this.#find(named)
    if (hold === undefined) return { policy: entry.policy, used: {} }
    await hold.settle(used)
    const charged = chargedUnits(entry, hold.granted, used)
    this.#ended(entry, named, settleEvent(hold.granted, charged))
    return { policy: entry.policy, used: charged }
  }

  /** Ends a hold and charges nothing. Rejects with ERR_HOLD if it has ended. */
  async cancel(named: NamedHold): Promise<Policy> {
    const { entry, hold } = this.#find(named)
    if (hold === undefined) return entry.policy
    await hold.cancel()
    this.#ended(entry, named, 'cancelled')
    return entry.policy
  }

  /** Lets a hold expire after `ttl` from now. Rejects with ERR_HOLD if it has ended. Returns undefined as time if nothing is held. */
  async extend(named: NamedHold, ttl: Duration): Promise<{ readonly policy: Policy; readonly expiresAt: number | undefined }> {
    const { entry, hold } = this.#find(named)
    if (hold === undefined) return { policy: entry.policy, expiresAt: undefined }
    await hold.extend(ttl)
    this.#known.extend(listedId(named.held), hold.expiresAt)
    return { policy: entry.policy, expiresAt: hold.expiresAt }
  }

  /** Returns the open holds of a client that this instance knows, the latest first. */
  ofClient(clientId: string): readonly KnownHold[] {
    return this.#known.ofClient(clientId)
  }

  /** Returns an open hold that this instance knows. */
  get(id: string): KnownHold | undefined {
    return this.#known.get(id)
  }

  /** Returns the known open holds of the counter that a request is counted by, and the units that they hold. */
  usageOf({ clientId, route }: RequestFacts): { readonly open: number; readonly held: Units } {
    const counter = countedKey(this.#options.policies.find(clientId, route), clientId, route)
    const own = this.#known.ofClient(clientId).filter((hold) => hold.counter === counter)
    const held: Record<string, number> = Object.create(null)
    for (const { granted } of own) {
      for (const [rule, units] of Object.entries(granted)) held[rule] = (held[rule] ?? 0) + units
    }
    return { open: own.length, held }
  }

  /** Returns the policy in force now, and the hold; undefined if nothing is held. */
  #find({ clientId, route, countedBy, held }: NamedHold): {
    readonly entry: PolicyLimiter
    readonly hold: Pick<HeldUnits, 'granted' | 'expiresAt' | 'settle' | 'cancel' | 'extend'> | undefined
  } {
    const { policies, limiters } = this.#options
    const entry = limiters.limiterFor(policies.find(clientId, route))
    if (held === '') return { entry, hold: undefined }
    // The fallback's counters are in this process, so only this instance can end a hold of them.
    const ofFallback = this.#known.get(listedId(held))?.ofFallback
    const scope = countedBy === '' ? 'route' : 'policy'
    const counter = countedKey({ scope, name: countedBy }, clientId, route)
    return { entry, hold: ofFallback ?? entry.limiter.openHold(fullHeld(held, counter)) }
  }

  #ended(entry: PolicyLimiter, { held }: NamedHold, end: HoldEnd): void {
    entry.policyStats.holds.add(end)
    if (!this.#known.remove(listedId(held))) this.#options.stats.unlistedHoldEnds += 1
  }
}

/** Returns the units that a settle charges on each held rule. A place is given back, whatever was used. */
function chargedUnits({ limiter }: PolicyLimiter, granted: Units, used: Cost | undefined): Units {
  const places = new Set(limiter.rules.filter(({ isHeld }) => isHeld).map(({ name }) => name))
  const unitsOf = (rule: string): number | undefined => {
    if (typeof used !== 'object') return used
    return Object.hasOwn(used, rule) ? used[rule] : undefined
  }
  return Object.fromEntries(
    Object.entries(granted).map(([rule, units]) => [rule, places.has(rule) ? units : (unitsOf(rule) ?? units)]),
  )
}

/** Returns the largest number of a request, which stands for its cost in events. */
function largest({ hold = 1, cost = 1 }: Pick<ReserveOptions, 'hold' | 'cost'>): number {
  const numbers = [hold, cost].flatMap((units) => (typeof units === 'number' ? units : Object.values(units)))
  return Math.max(1, ...numbers)
}
