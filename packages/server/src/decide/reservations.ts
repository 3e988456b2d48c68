// Holds of the service: reserves units under the policies of a request, and settles, cancels or extends them later, on any instance.
// A policy in shadow mode holds what it would hold if it were enforced. Its hold is a part of the caller's, and ends with it.
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
import { isUncounted } from '../stats/uncounted.ts'
import type { CheckResult } from './check-result.ts'
import { endQuietly, endTogether, openIfKnown } from './followed-hold.ts'
import { heldParts, joinHeld } from './held-parts.ts'
import { fullHeld, LONGEST_HELD, shortHeld } from './held-text.ts'
import { chargedUnits, largest, mapUnits, settledUnits, type Units } from './held-units.ts'
import type { JointLimiter } from './joint-limiter.ts'
import { type KnownHold, KnownHolds, listedId } from './known-holds.ts'
import type { LayeredChecks } from './layered-checks.ts'
import type { PolicySet, PolicySets } from './policy-sets.ts'
import { firstOf, type NewPart, partsOf, ShadowReserves } from './shadow-reserves.ts'

/** Message for a hold whose token would be too long. */
export const TOKEN_TOO_LONG = 'the token would be too long: name fewer rules in hold, or send shorter attributes'

/** A request to hold units. */
export interface ReserveRequest extends RequestFacts, Pick<ReserveOptions, 'hold' | 'cost' | 'atLeast' | 'ttl' | 'expired'> {}

/** The facts in a hold token. */
export interface NamedHold extends RequestFacts {
  /** Names the hold for the library, in short form. Empty if nothing is held, as under a policy that is off: there is nothing to end. */
  readonly held: string
}

export type OpenedHold = NamedHold & Pick<Hold, 'granted' | 'expiresAt'>

export interface ReserveResult extends CheckResult {
  /** Set if the request is allowed. */
  readonly hold: OpenedHold | undefined
}

/** Default of the library for a hold without a rule that has nothing but holds. */
const DEFAULT_TTL_MS = 60_000

/** Characters of the parts of policies in shadow mode, so that they do not make a token too long. */
const MOST_FOLLOWING = 16_384

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
  readonly hold: HeldUnits | undefined
  /** Holds of policies in shadow mode, which end with it. */
  readonly followers: readonly HeldUnits[]
}

export class Reservations {
  readonly #options: ReservationsOptions
  readonly #known: KnownHolds
  readonly #shadows: ShadowReserves

  constructor(options: ReservationsOptions) {
    const { stats } = options
    this.#options = options
    this.#shadows = new ShadowReserves(options)
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
   * Decides over the enforced policies, and holds. If they allow, each policy in shadow mode is decided by itself, and denies nothing. Rejects
   * if the store failed and there is no fallback, with ERR_HOLDS, or with ERR_INPUT if its token would be too long. Then nothing is held.
   */
  async reserve({ clientId, route, attributes, ...options }: ReserveRequest): Promise<ReserveResult> {
    const { layered, answered } = this.#options
    const startMs = performance.now()
    const facts = { clientId, route, ...(attributes !== undefined && { attributes }) }
    const set = this.#setFor(facts)
    const check = { ...facts, cost: largest(options) }
    const open = { set, check, startMs }
    const nothing = { ...facts, held: '', granted: {}, expiresAt: 0 }
    if (set.block !== undefined) return { ...layered.blocked(set.block, check, startMs), hold: undefined }
    const { enforced, shadows } = set
    // Without an enforced policy, the first one in shadow mode that holds something takes its place.
    const first = enforced === undefined ? firstOf(shadows, options) : undefined
    const joint = enforced ?? first?.joint
    const followed = { facts, asked: options, terms: { expired: options.expired, ttl: options.ttl ?? ttlMsOf(joint) }, startMs }
    const others = shadows.filter((shadow) => shadow !== first)
    if (joint === undefined) {
      return { ...layered.resultOfShadows(open, await this.#shadows.ask(shadows, followed)), hold: nothing }
    }
    const beside = others.flatMap((shadow) => shadow.joint ?? [])
    const hold = await this.#hold(joint, set.primary, facts, {
      ...options,
      ...mapUnits(options, (units) => joint.unitsBeside(beside, units)),
    })
    const { decision } = hold
    answered(decision, startMs)
    const isFollowed = enforced === undefined || (hold.allowed && !isUncounted(decision))
    const asked = isFollowed && others.length > 0 ? await this.#shadows.ask(others, followed) : []
    const result =
      enforced === undefined
        ? layered.resultOfShadows(open, [{ policy: first?.policy ?? set.primary, decision }, ...asked])
        : layered.resultOf(enforced, check, decision, startMs, asked)
    if (!result.allowed) return { ...result, hold: undefined }
    // In shadow mode a denial is allowed, and a fallback may count nothing. Then nothing is held.
    const [lead, ...followers] = [...(hold.token === '' ? [] : [{ hold, joint }]), ...partsOf(asked)]
    if (lead === undefined) return { ...result, hold: nothing }
    if (lead.hold.token.length > LONGEST_HELD) {
      for (const part of [lead, ...followers]) await endQuietly(part.hold, (each) => each.cancel())
      throw new ServerError('ERR_INPUT', TOKEN_TOO_LONG)
    }
    return { ...result, hold: await this.#opened(set.primary, facts, lead, followers) }
  }

  /** Ends a hold and charges what was used. Rejects with ERR_HOLD if it has ended. */
  async settle(named: NamedHold, used: Cost | undefined): Promise<{ readonly policy: Policy; readonly used: Units }> {
    const { policy, joint, hold, followers } = this.#find(named)
    if (hold === undefined || joint === undefined) return { policy, used: {} }
    const isOfOther = (label: string): boolean => followers.some(({ granted }) => Object.hasOwn(granted, label))
    const units = settledUnits(joint, hold.granted, used, isOfOther)
    await endTogether(hold, followers, (part) =>
      part.settle(part === hold ? units : settledUnits(joint, part.granted, used, () => true)),
    )
    const charged = chargedUnits(joint, hold.granted, units)
    this.#ended(policy, named, settleEvent(hold.granted, charged))
    return { policy, used: charged }
  }

  /** Ends a hold and charges nothing. Rejects with ERR_HOLD if it has ended. */
  async cancel(named: NamedHold): Promise<Policy> {
    const { policy, hold, followers } = this.#find(named)
    if (hold === undefined) return policy
    await endTogether(hold, followers, (part) => part.cancel())
    this.#ended(policy, named, 'cancelled')
    return policy
  }

  /** Lets a hold expire after `ttl` from now. Rejects with ERR_HOLD if it has ended. Returns undefined as time if nothing is held. */
  async extend(named: NamedHold, ttl: Duration): Promise<{ readonly policy: Policy; readonly expiresAt: number | undefined }> {
    const { policy, hold, followers } = this.#find(named)
    if (hold === undefined) return { policy, expiresAt: undefined }
    await endTogether(hold, followers, (part) => part.extend(ttl))
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
    options: Omit<ReserveRequest, keyof RequestFacts>,
  ): Promise<Hold> {
    const { stats } = this.#options
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
    const { counting: joint, primary: policy } = this.#setFor(named)
    const [lead, ...others] = heldParts(named.held)
    if (lead === undefined || joint === undefined) return { policy, joint, hold: undefined, followers: [] }
    // The fallback's counters are in this process, so only this instance can end a hold of them.
    const ofFallback = this.#known.get(listedId(named.held))?.ofFallback
    const open = (part: string): HeldUnits => joint.limiter.openHold(fullHeld(part, textsOf(named)))
    const followers = others.flatMap((part, i) => ofFallback?.[i + 1] ?? openIfKnown(() => open(part)))
    return { policy, joint, hold: ofFallback?.[0] ?? open(lead), followers }
  }

  /** Lists a new hold. Returns its name, and what the caller holds. */
  async #opened(policy: Policy, facts: RequestFacts, lead: NewPart, following: readonly NewPart[]): Promise<OpenedHold> {
    const { stats } = this.#options
    const { granted, expiresAt } = lead.hold
    const parts = [lead]
    const texts = [shortHeld(lead.hold.token, textsOf(facts))]
    let left = MOST_FOLLOWING
    for (const part of following) {
      const text = shortHeld(part.hold.token, textsOf(facts))
      left -= text.length
      if (left < 0 || part.hold.token.length > LONGEST_HELD) await endQuietly(part.hold, (hold) => hold.cancel())
      else {
        parts.push(part)
        texts.push(text)
      }
    }
    const named = { ...facts, held: joinHeld(texts), granted, expiresAt }
    const isOfFallback = ({ hold }: NewPart): boolean => hold.decision.source === 'fallback'
    const ofFallback = parts.some(isOfFallback) && {
      ofFallback: parts.map((part) => (isOfFallback(part) ? part.hold : undefined)),
    }
    const { name } = policy
    const counters = countersOf(lead.joint, facts)
    stats.statsOf(name).holds.add('opened')
    this.#known.add({ ...named, counters, policy: name, openedAt: stats.now(), id: listedId(named.held), ...ofFallback })
    return named
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

/** Returns the time of a hold whose caller names none. */
function ttlMsOf(joint: JointLimiter | undefined): number {
  const ttls = joint?.rules.flatMap(({ rule }) => (rule.isHeld ? rule.windowMs : [])) ?? []
  return ttls.length === 0 ? DEFAULT_TTL_MS : Math.min(...ttls)
}
