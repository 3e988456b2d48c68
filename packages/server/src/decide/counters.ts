// Reads and changes the counters of a request, under all policies that apply to it.

import type { Decision, RuleStatus } from 'sluice'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { RequestFacts } from '../policies/request-facts.ts'
import { freeDecision } from './blocks.ts'
import type { CheckRequest } from './check-request.ts'
import { isOfClient, type JointLimiter } from './joint-limiter.ts'
import type { LayeredChecks } from './layered-checks.ts'
import { speaking } from './policy-decisions.ts'
import type { PolicySet, PolicySets } from './policy-sets.ts'

/** A rule with what was used of it. */
export interface RuleUsage extends RuleStatus {
  readonly policy: Policy
}

export interface Usage {
  /** The policy that speaks. */
  readonly policy: Policy
  readonly decision: Decision
  /** The decision that a check would get now, after the modes of the policies. */
  readonly allowed: boolean
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
    const { block, enforced, primary, counting } = set
    const rules = counting === undefined ? [] : await rulesOf(counting, request)
    if (block !== undefined) return { policy: block, decision: this.#options.layered.blockOf(block), allowed: false, rules }
    if (enforced !== undefined) {
      const decision = await peek(enforced, request)
      return { policy: enforced.policyOf(decision.rule), decision, allowed: decision.allowed, rules }
    }
    const shadows = await Promise.all(
      set.shadows.map(async ({ policy, joint }) => {
        return { policy, decision: joint === undefined ? this.#options.layered.blockOf(policy) : await peek(joint, request) }
      }),
    )
    const { policy, decision } = speaking(shadows) ?? { policy: primary, decision: freeDecision(primary) }
    return { policy, decision, allowed: true, rules }
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

  #setFor({ clientId, route, attributes }: RequestFacts): PolicySet {
    const { policies, sets } = this.#options
    return sets.setFor(policies.find(clientId, route, attributes), policies.layersFor(clientId, route, attributes))
  }
}

async function peek(joint: JointLimiter, request: CheckRequest): Promise<Decision> {
  return joint.limiter.peek(joint.subjectOf(request), { cost: request.cost })
}

async function rulesOf(counting: JointLimiter, request: CheckRequest): Promise<readonly RuleUsage[]> {
  const { rules } = await peek(counting, request)
  return rules.map((status) => ({ ...status, policy: counting.policyOf(status.name) }))
}
