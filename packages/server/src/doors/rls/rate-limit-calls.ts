// Decides the descriptors of a request.
//
// | hits            | does                                                                        |
// | --------------- | --------------------------------------------------------------------------- |
// | 1 or more       | decides and spends                                                          |
// | 0               | only looks: over the limit if more than the limit is used                    |
// | negative        | gives units back, and looks                                                 |
//
// A descriptor's own hits come before the hits of the request.
// By default each descriptor is decided and charged by itself, as the reference server does. With `allOrNothing`, none is charged if one
// denies: all are peeked at first, then charged, and what was charged is given back if one denies after all.

import type { Decider } from '../../decide/decider.ts'
import { ServerError } from '../../errors.ts'
import type { Policy } from '../../policies/policy.ts'
import type { CheckedRequest } from '../../stats/stats.ts'
import { DescriptorFacts, nameOfPlace } from './descriptor-facts.ts'
import { BLOCKED, isCharged, isDenied, type Outcome } from './descriptor-status.ts'
import { OverridePolicies } from './override-policies.ts'
import type { RateLimitDescriptor, RateLimitRequest, Uint64 } from './protocol.ts'

/** Bounds the work of one request. */
export const MOST_DESCRIPTORS = 64

export const LONGEST_DOMAIN = 256

/** One descriptor, read. */
interface Asked {
  /** With cost 0 if it only looks. */
  readonly request: CheckedRequest
  /** Units to give back. */
  readonly refunded: number
  /** The policy of a limit that the descriptor brings along. `blocked` if that limit is 0: no rule has it, and nothing is counted. */
  readonly override: Policy | typeof BLOCKED | undefined
}

type Outcomes = readonly Outcome[] | Promise<readonly Outcome[]>

export class RateLimitCalls {
  readonly #decider: Decider
  readonly #allOrNothing: boolean
  readonly #facts = new DescriptorFacts()
  readonly #overrides = new OverridePolicies()

  constructor(decider: Decider, allOrNothing: boolean) {
    this.#decider = decider
    this.#allOrNothing = allOrNothing
  }

  /** Returns the outcome of each descriptor, in order. Synchronous if the store answers at once. Throws ERR_INPUT before anything is spent. */
  decide(request: RateLimitRequest): Outcomes {
    const asked = this.#read(request)
    if (this.#allOrNothing && asked.length > 1) return this.#decideTogether(asked)
    const startMs = performance.now()
    const outcomes = asked.map((each) => this.#decideOne(each, startMs))
    return outcomes.some((outcome) => outcome instanceof Promise) ? Promise.all(outcomes) : (outcomes as readonly Outcome[])
  }

  #read({ domain, descriptors, hits_addend }: RateLimitRequest): readonly Asked[] {
    if (domain === '' || domain.length > LONGEST_DOMAIN) {
      throw new ServerError('ERR_INPUT', `domain must have 1 to ${LONGEST_DOMAIN} characters`)
    }
    if (descriptors.length === 0 || descriptors.length > MOST_DESCRIPTORS) {
      throw new ServerError('ERR_INPUT', `a request has 1 to ${MOST_DESCRIPTORS} descriptors, got ${descriptors.length}`)
    }
    return descriptors.map((descriptor, i) => this.#readOne(domain, descriptor, hits_addend || 1, i))
  }

  #readOne(domain: string, descriptor: RateLimitDescriptor, hits: number, place: number): Asked {
    const { entries, limit, hits_addend, is_negative_hits: isRefund } = descriptor
    const { clientId, route, attributes } = this.#facts.of(domain, entries, place)
    const units = hits_addend === null ? hits : costOf(hits_addend.value)
    const [cost, refunded] = isRefund ? [0, units] : [units, 0]
    const form = limit === null ? 'descriptor' : 'own-limit'
    return { request: { form, clientId, route, attributes, cost }, refunded, override: this.#overrideOf(limit, place) }
  }

  #overrideOf(limit: RateLimitDescriptor['limit'], place: number): Asked['override'] {
    if (limit === null) return undefined
    return limit.requests_per_unit === 0 ? BLOCKED : this.#overrides.policyFor(limit, nameOfPlace(place))
  }

  #decideOne(asked: Asked, startMs: number): Outcome | Promise<Outcome> {
    const { request, override } = asked
    if (request.cost === 0) return this.#look(asked)
    if (override === undefined) return this.#decider.checkWritten(request, startMs)
    return override === BLOCKED ? BLOCKED : this.#decider.checkUnder(override, request, startMs)
  }

  /** Gives units back, and looks. */
  #look({ request, refunded, override }: Asked): Outcome | Promise<Outcome> {
    if (override === undefined) return this.#decider.lookWritten(request, refunded)
    return override === BLOCKED ? BLOCKED : this.#decider.lookUnder(override, request, refunded)
  }

  async #decideTogether(asked: readonly Asked[]): Promise<readonly Outcome[]> {
    const seen = await Promise.all(asked.map((each) => this.#look({ ...each, refunded: 0 })))
    if (seen.some(isDenied)) return seen
    const startMs = performance.now()
    const outcomes = await Promise.all(asked.map((each) => this.#decideOne(each, startMs)))
    if (outcomes.some(isDenied)) await this.#giveBack(asked, outcomes)
    return outcomes
  }

  /** Another request came between the look and the charge. */
  async #giveBack(asked: readonly Asked[], outcomes: readonly Outcome[]): Promise<void> {
    const charged = asked.filter(({ request }, i) => request.cost > 0 && isCharged(outcomes[i]))
    await Promise.all(charged.map((each) => this.#look({ ...each, refunded: each.request.cost })))
  }
}

/** More than any limit is as much as the largest cost. */
function costOf(value: Uint64): number {
  return Math.min(typeof value === 'number' ? value : value.toNumber(), Number.MAX_SAFE_INTEGER)
}
