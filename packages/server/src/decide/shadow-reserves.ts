// Reserves under policies in shadow mode: each by itself, as if it were enforced, and it denies nothing.
// Invariant: nothing that happens to a policy in shadow mode fails the request, and what it holds ends with the hold that it follows, or
// expires at the same time.

import { type Cost, type Decision, type Duration, type Hold, SluiceError } from 'sluice'
import type { RequestFacts } from '../policies/request-facts.ts'
import type { Stats } from '../stats/stats.ts'
import { type AskedUnits, holdsAny, mapUnits } from './held-units.ts'
import type { JointLimiter } from './joint-limiter.ts'
import type { LayeredChecks } from './layered-checks.ts'
import { type PolicyDecision, recordShadowError } from './policy-decisions.ts'
import type { ShadowPolicy } from './policy-sets.ts'

export interface ShadowReservesOptions {
  readonly layered: LayeredChecks
  readonly stats: Stats
  /** Reports an answer of the store. */
  readonly answered: (decision: Decision, startMs: number) => void
}

/** A request that the enforced policies allow. */
export interface FollowedReserve {
  readonly facts: RequestFacts
  readonly asked: AskedUnits
  /** The terms of the hold that is followed. */
  readonly terms: { readonly ttl: Duration; readonly expired?: 'charge' | 'release' | undefined }
  readonly startMs: number
}

export interface ShadowReserve extends PolicyDecision {
  /** Set if units are held. */
  readonly hold: Hold | undefined
  readonly joint: JointLimiter | undefined
}

/** A part of a new hold. */
export interface NewPart {
  readonly hold: Hold
  readonly joint: JointLimiter
}

export class ShadowReserves {
  readonly #options: ShadowReservesOptions

  constructor(options: ShadowReservesOptions) {
    this.#options = options
  }

  /** Returns the decisions of the policies that could decide. */
  async ask(shadows: readonly ShadowPolicy[], followed: FollowedReserve): Promise<readonly ShadowReserve[]> {
    const decided = await Promise.all(shadows.map((shadow) => this.#ask(shadow, followed)))
    return decided.filter((each) => each !== undefined)
  }

  async #ask({ policy, joint }: ShadowPolicy, followed: FollowedReserve): Promise<ShadowReserve | undefined> {
    const { layered, stats, answered } = this.#options
    if (joint === undefined) return { policy, decision: layered.blockOf(policy), hold: undefined, joint }
    const { facts, asked, startMs } = followed
    try {
      if (!holdsAny(joint, asked)) {
        const cost = joint.ownUnits(asked.cost ?? 1)
        // A rule of cost 0 is not asked.
        if (isNothing(joint, cost)) return undefined
        const decision = await joint.limiter.hit(joint.subjectOf(facts), { cost })
        answered(decision, startMs)
        return { policy, decision, hold: undefined, joint }
      }
      const { expired, ttl } = followed.terms
      const terms = { ttl, ...(expired !== undefined && { expired }) }
      const units = mapUnits(asked, (each) => joint.ownUnits(each))
      const hold = await joint.limiter.reserve(joint.subjectOf(facts), { ...units, ...terms })
      answered(hold.decision, startMs)
      return { policy, decision: hold.decision, hold: hold.token === '' ? undefined : hold, joint }
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      if (error.code === 'ERR_HOLDS') stats.statsOf(policy.name).holds.add('refused')
      else recordShadowError(stats, policy)
      return undefined
    }
  }
}

/** Returns the policy in shadow mode that stands for the enforced ones: the first that holds something, or else the first that counts. */
export function firstOf(shadows: readonly ShadowPolicy[], asked: AskedUnits): ShadowPolicy | undefined {
  return shadows.find(({ joint }) => joint && holdsAny(joint, asked)) ?? shadows.find(({ joint }) => joint)
}

/** Returns the parts that policies in shadow mode hold. */
export function partsOf(asked: readonly ShadowReserve[]): NewPart[] {
  return asked.flatMap(({ hold, joint }) => (hold === undefined || joint === undefined ? [] : { hold, joint }))
}

function isNothing({ rules }: JointLimiter, cost: Cost): boolean {
  return typeof cost === 'object' && rules.every(({ label }) => Object.hasOwn(cost, label) && cost[label] === 0)
}
