// Reads and changes the counters of a request, under all policies that apply to it.

import type { Decision, RuleStatus } from 'sluice'
import type { Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import { blockResponder, freeDecision } from './blocks.ts'
import type { CheckRequest } from './check-request.ts'
import { isOfClient, type JointLimiter } from './joint-limiter.ts'
import { areKnown, type LayeredChecks } from './layered-checks.ts'
import { speaking } from './policy-decisions.ts'
import type { PolicySet, PolicySets } from './policy-sets.ts'

/** A rule with what was used of it. */
export interface RuleUsage extends RuleStatus {
  readonly policy: Policy
}

/** The decision that a check would get. */
export interface Look {
  /** The policy that speaks. */
  readonly policy: Policy
  readonly decision: Decision
  /** The decision for the caller, after the modes of the policies. */
  readonly allowed: boolean
  /** Writes the headers for the decision. */
  readonly responder: Responder
}

export interface Usage extends Look {
  /** The rules of all policies that apply, whatever their mode. */
  readonly rules: readonly RuleUsage[]
}

/** A changed counter. */
export interface Counted {
  /** The most specific policy, or that of the named rule. */
  readonly policy: Policy
  readonly used: number
}

export interface CountersOptions {
  readonly policies: PolicyBook
  readonly sets: PolicySets
  readonly layered: LayeredChecks
}

export class Counters {
  readonly #options: CountersOptions

  constructor(options: CountersOptions) {
    this.#options = options
  }

  /** Returns the decision that a check would get now. Spends nothing. */
  async usage(request: CheckRequest): Promise<Usage> {
    const set = this.#setFor(request)
    const { counting } = set
    const rules = counting === undefined ? [] : await rulesOf(counting, request)
    return { ...(await this.#look(set, request)), rules }
  }

  /**
   * Gives `refunded` units back, and returns the decision that a check would get then, without the built-in policy. Returns undefined if
   * nobody wrote a policy that applies. Synchronous on a store that answers at once. Otherwise both calls are sent in one turn, and calls
   * on one key keep their order.
   */
  lookWritten(request: CheckRequest, refunded: number): Look | undefined | Promise<Look> {
    const set = this.#writtenSetFor(request)
    if (set === undefined) return undefined
    const { charged } = set
    const refund = refunded === 0 ? undefined : charged?.limiter.refund(charged.subjectOf(request), refunded)
    const look = this.#look(set, request)
    return refund instanceof Promise ? Promise.all([look, refund]).then(([seen]) => seen) : look
  }

  #look(set: PolicySet, request: CheckRequest): Look | Promise<Look> {
    const { block, enforced, shadows } = set
    const { layered } = this.#options
    if (block !== undefined) {
      return { policy: block, decision: layered.blockOf(block), allowed: false, responder: blockResponder(block) }
    }
    if (enforced !== undefined) {
      const { responder } = enforced
      const seen = (decision: Decision): Look => {
        return { policy: enforced.policyOf(decision.rule), decision, allowed: decision.allowed, responder }
      }
      const decision = peek(enforced, request)
      return decision instanceof Promise ? decision.then(seen) : seen(decision)
    }
    const decisions = shadows.map(({ policy, joint }) => (joint === undefined ? layered.blockOf(policy) : peek(joint, request)))
    return areKnown(decisions) ? lookOfShadows(set, decisions) : Promise.all(decisions).then((known) => lookOfShadows(set, known))
  }

  /** Resets the counters that the client shares with no other client. */
  async reset(facts: RequestFacts): Promise<Policy> {
    const set = this.#setFor(facts)
    const own = set.joinSome(isOfClient)
    try {
      await own?.limiter.reset(own.subjectOf(facts))
    } finally {
      own?.close()
    }
    return set.primary
  }

  /** Gives units back on every rule that a check spends on. Returns the used units of the first rule. */
  async refund(request: CheckRequest): Promise<Counted> {
    const { charged, primary } = this.#setFor(request)
    const used = (await charged?.limiter.refund(charged.subjectOf(request), request.cost)) ?? 0
    return { policy: primary, used }
  }

  /** Sets the count of one rule to `used`. `rule` is its name, or `policy/rule`. Default: the first rule. */
  async set(facts: RequestFacts, used: number, rule: string | undefined): Promise<Counted & { readonly rule: string }> {
    const { counting, primary } = this.#setFor(facts)
    if (counting === undefined) return { policy: primary, used: 0, rule: rule ?? '' }
    const now = await counting.limiter.set(counting.subjectOf(facts), used, rule === undefined ? {} : { rule })
    const changed = rule ?? counting.rules[0].label
    return { policy: counting.policyOf(changed), used: now, rule: changed }
  }

  /** Without the built-in policy. */
  #writtenSetFor(request: RequestFacts): PolicySet | undefined {
    const set = this.#setFor(request)
    if (set.primary.source !== 'built-in') return set
    const [, primary, ...layers] = set.policies
    return primary && this.#options.sets.setFor(primary, layers)
  }

  #setFor({ clientId, route, attributes }: RequestFacts): PolicySet {
    const { policies, sets } = this.#options
    return sets.setFor(policies.find(clientId, route, attributes), policies.layersFor(clientId, route, attributes))
  }
}

/** `decisions` are those of the policies in shadow mode, in their order. */
function lookOfShadows({ shadows, primary }: PolicySet, decisions: readonly Decision[]): Look {
  const decided = shadows.map(({ policy }, i) => ({ policy, decision: decisions[i] }))
  const { policy, decision } = speaking(decided) ?? { policy: primary, decision: freeDecision(primary) }
  const joint = shadows.find((shadow) => shadow.policy === policy)?.joint
  return { policy, decision, allowed: true, responder: joint?.responder ?? blockResponder(policy) }
}

function peek(joint: JointLimiter, request: CheckRequest): Decision | Promise<Decision> {
  return joint.limiter.peek(joint.subjectOf(request), { cost: request.cost })
}

async function rulesOf(counting: JointLimiter, request: CheckRequest): Promise<readonly RuleUsage[]> {
  const { rules } = await peek(counting, request)
  return rules.map((status) => ({ ...status, policy: counting.policyOf(status.name) }))
}
