// Holds of the service: reserves units under the policies of a request, and settles, cancels or extends them later, on any instance.
// Invariant: the store decides if a hold is open, so a hold ends once, whichever instances are asked. A policy that changed
// meanwhile does not matter: a hold is found by its id, under the names of its rules.

import type { Cost, Decision, Duration, HeldUnits, Hold, ReserveOptions } from 'sluice'
import { SluiceError } from 'sluice'
import { ServerError } from '../errors.ts'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import { type HoldEnd, settleEvent } from '../stats/hold-counts.ts'
import type { Stats } from '../stats/stats.ts'
import type { CheckResult } from './check-result.ts'
import { fullHeld, LONGEST_HELD, shortHeld } from './held-text.ts'
import type { JointLimiter } from './joint-limiter.ts'
import { type KnownHold, KnownHolds, listedId } from './known-holds.ts'
import type { LayeredChecks } from './layered-checks.ts'
import type { PolicySet, PolicySets } from './policy-sets.ts'

/** Message for a hold whose token would be too long. */
export const TOKEN_TOO_LONG = 'the token would be too long: name fewer rules in hold, or send shorter attributes'

/** A request to hold units. */
export interface ReserveRequest extends RequestFacts, Pick<ReserveOptions, 'hold' | 'cost' | 'atLeast' | 'ttl' | 'expired'> {}

/** The facts in a hold token. */
export interface NamedHold extends RequestFacts {
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
  readonly sets: PolicySets
  readonly layered: LayeredChecks
  readonly stats: Stats
  /** Reports an answer of the store. */
  readonly answered: (decision: Decision, startMs: number) => void
}

/** A hold that a token names, with the policies that apply now. */
interface FoundHold {
  readonly policy: Policy
  readonly joint: JointLimiter | undefined
  /** Undefined if nothing is held. */
  readonly hold: Pick<HeldUnits, 'granted' | 'expiresAt' | 'settle' | 'cancel' | 'extend'> | undefined
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

  /**
   * Decides over the enforced policies, and holds. If there are none, decides over those in shadow mode, and denies nothing. Rejects if
   * the store failed and there is no fallback, with ERR_HOLDS, or with ERR_INPUT if its token would be too long. Then nothing is held.
   */
  async reserve({ clientId, route, attributes, ...options }: ReserveRequest): Promise<ReserveResult> {
    const { layered, answered } = this.#options
    const startMs = performance.now()
    const facts = { clientId, route, ...(attributes !== undefined && { attributes }) }
    const set = this.#setFor(facts)
    const check = { ...facts, cost: largest(options) }
    const nothing = { ...facts, held: '', granted: {}, expiresAt: 0 }
    if (set.block !== undefined) return { ...layered.blocked(set.block, check, startMs), hold: undefined }
    const joint = set.enforced ?? set.charged
    if (joint === undefined) return { ...layered.free(set.primary, check, startMs), hold: nothing }
    const hold = await this.#hold(joint, set.primary, facts, options)
    answered(hold.decision, startMs)
    const result = layered.resultOf(joint, check, hold.decision, startMs)
    if (!result.allowed) return { ...result, hold: undefined }
    // In shadow mode a denial is allowed, and a fallback may count nothing. Then nothing is held.
    const { granted, expiresAt, token } = hold
    if (token === '') return { ...result, hold: nothing }
    if (token.length > LONGEST_HELD) {
      await hold.cancel()
      throw new ServerError('ERR_INPUT', TOKEN_TOO_LONG)
    }
    const named = { ...facts, held: shortHeld(token, textsOf(facts)) }
    this.#opened(set.primary, { ...named, granted, expiresAt, counters: countersOf(joint, facts) }, hold)
    return { ...result, hold: { ...named, granted, expiresAt } }
  }

  /** Ends a hold and charges what was used. Rejects with ERR_HOLD if it has ended. */
  async settle(named: NamedHold, used: Cost | undefined): Promise<{ readonly policy: Policy; readonly used: Units }> {
    const { policy, joint, hold } = this.#find(named)
    if (hold === undefined || joint === undefined) return { policy, used: {} }
    const units = used === undefined ? undefined : ofHeld(joint, hold.granted, used)
    await hold.settle(units)
    const charged = chargedUnits(joint, hold.granted, units)
    this.#ended(policy, named, settleEvent(hold.granted, charged))
    return { policy, used: charged }
  }

  /** Ends a hold and charges nothing. Rejects with ERR_HOLD if it has ended. */
  async cancel(named: NamedHold): Promise<Policy> {
    const { policy, hold } = this.#find(named)
    if (hold === undefined) return policy
    await hold.cancel()
    this.#ended(policy, named, 'cancelled')
    return policy
  }

  /** Lets a hold expire after `ttl` from now. Rejects with ERR_HOLD if it has ended. Returns undefined as time if nothing is held. */
  async extend(named: NamedHold, ttl: Duration): Promise<{ readonly policy: Policy; readonly expiresAt: number | undefined }> {
    const { policy, hold } = this.#find(named)
    if (hold === undefined) return { policy, expiresAt: undefined }
    await hold.extend(ttl)
    this.#known.extend(listedId(named.held), hold.expiresAt)
    return { policy, expiresAt: hold.expiresAt }
  }

  /** Returns the open holds of a client that this instance knows, the latest first. */
  ofClient(clientId: string): readonly KnownHold[] {
    return this.#known.ofClient(clientId)
  }

  /** Returns an open hold that this instance knows. */
  get(id: string): KnownHold | undefined {
    return this.#known.get(id)
  }

  /** Returns the known open holds of the client on counters of the request, and the units that they hold. */
  usageOf(facts: RequestFacts): { readonly open: number; readonly held: Units } {
    const { counting } = this.#setFor(facts)
    const counters = counting === undefined ? [] : countersOf(counting, facts)
    const own = this.#known.ofClient(facts.clientId).filter((hold) => hold.counters.some((each) => counters.includes(each)))
    const held: Record<string, number> = Object.create(null)
    for (const { granted } of own) {
      for (const [rule, units] of Object.entries(granted)) held[rule] = (held[rule] ?? 0) + units
    }
    return { open: own.length, held }
  }

  #setFor({ clientId, route, attributes }: RequestFacts): PolicySet {
    const { policies, sets } = this.#options
    return sets.setFor(policies.find(clientId, route, attributes), policies.layersFor(clientId, route, attributes))
  }

  async #hold(
    joint: JointLimiter,
    { name }: Policy,
    facts: RequestFacts,
    { hold, cost, atLeast, ...others }: Omit<ReserveRequest, keyof RequestFacts>,
  ): Promise<Hold> {
    const { stats } = this.#options
    const options = {
      ...others,
      ...(hold !== undefined && { hold: joint.unitsOf(hold) }),
      ...(cost !== undefined && { cost: joint.unitsOf(cost) }),
      ...(atLeast !== undefined && { atLeast: joint.unitsOf(atLeast) }),
    }
    try {
      return await joint.limiter.reserve(joint.subjectOf(facts), options)
    } catch (error) {
      const code = error instanceof SluiceError ? error.code : ''
      if (code === 'ERR_HOLDS') stats.statsOf(name).holds.add('refused')
      else if (code.startsWith('ERR_STORE')) stats.recordError(stats.statsOf(name))
      throw error
    }
  }

  /** Returns the hold that a token names, and the policies that apply now. */
  #find(named: NamedHold): FoundHold {
    const set = this.#setFor(named)
    const { counting: joint, primary: policy } = set
    if (named.held === '' || joint === undefined) return { policy, joint, hold: undefined }
    // The fallback's counters are in this process, so only this instance can end a hold of them.
    const ofFallback = this.#known.get(listedId(named.held))?.ofFallback
    return { policy, joint, hold: ofFallback ?? joint.limiter.openHold(fullHeld(named.held, textsOf(named))) }
  }

  #opened(
    { name }: Policy,
    named: Pick<KnownHold, 'clientId' | 'route' | 'held' | 'granted' | 'expiresAt' | 'counters'>,
    hold: Hold,
  ): void {
    const { stats } = this.#options
    stats.statsOf(name).holds.add('opened')
    const ofFallback = hold.decision.source === 'fallback' ? { ofFallback: hold } : {}
    this.#known.add({ ...named, policy: name, openedAt: stats.now(), id: listedId(named.held), ...ofFallback })
  }

  #ended({ name }: Policy, { held }: NamedHold, end: HoldEnd): void {
    const { stats } = this.#options
    stats.statsOf(name).holds.add(end)
    if (!this.#known.remove(listedId(held))) stats.unlistedHoldEnds += 1
  }
}

/** Returns the keys of a request's counters. */
function countersOf(joint: JointLimiter, facts: RequestFacts): readonly string[] {
  return Object.values(joint.subjectOf(facts))
}

/** Returns the texts of a request that keys repeat. */
function textsOf({ clientId, route, attributes = {} }: RequestFacts): readonly string[] {
  const names = Object.keys(attributes).sort()
  return [clientId, route, ...names.map((name) => attributes[name])]
}

/** Returns units by label for the held rules. Names of rules that hold nothing are kept, so that the hold refuses them. */
function ofHeld(joint: JointLimiter, granted: Units, used: Cost): Cost {
  if (typeof used === 'number') return used
  const byLabel = joint.unitsOf(used) as Units
  const isMeant = (label: string): boolean => Object.hasOwn(granted, label) || Object.hasOwn(used, label)
  return Object.fromEntries(Object.entries(byLabel).filter(([label]) => isMeant(label)))
}

/** Returns the units that a settle charges on each held rule. A place is given back, whatever was used. */
function chargedUnits({ limiter }: JointLimiter, granted: Units, used: Cost | undefined): Units {
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
