// Decides checks to which several policies apply, or one whose rules count by different keys.
//
// | order | policies                               | decision                                                              |
// | ----- | -------------------------------------- | --------------------------------------------------------------------- |
// | 1     | mode `deny`, or a rule of limit 0      | denies, and nothing is counted                                        |
// | 2     | mode `enforce`                         | one decision over all their rules: all are charged, or none is        |
// | 3     | mode `shadow`, if those above allow    | each is decided by itself, as if it stood alone, and denies nothing   |
//
// Invariant: a policy in shadow mode is charged exactly for the checks that pass the enforced policies and its own rules.

import type { Decision } from 'sluice'
import type { Policy } from '../policies/policy.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { blockDecision, blockResponder, freeDecision } from './blocks.ts'
import type { CheckResult } from './check-result.ts'
import type { JointLimiter } from './joint-limiter.ts'
import { needsReserve } from './needs-reserve.ts'
import { isDenied, type PolicyDecision, recordCheck, recordShadowError, speaking } from './policy-decisions.ts'
import type { PolicySet, ShadowPolicy } from './policy-sets.ts'

export interface LayeredChecksOptions {
  readonly policies: PolicyBook
  readonly stats: Stats
  readonly retryWithinMs: number
  /** Reports an answer of the store. */
  readonly answered: (decision: Decision, startMs: number) => void
}

/** A check that is being decided. */
export interface OpenCheck {
  readonly set: PolicySet
  readonly check: CheckedRequest
  readonly startMs: number
}

export class LayeredChecks {
  readonly #options: LayeredChecksOptions

  constructor(options: LayeredChecksOptions) {
    this.#options = options
  }

  check(set: PolicySet, check: CheckedRequest, startMs: number): CheckResult | Promise<CheckResult> {
    const { block, enforced } = set
    const open = { set, check, startMs }
    if (block !== undefined) return this.blocked(block, check, startMs)
    if (enforced === undefined) return this.#askShadows(open, undefined)
    if (enforced.heldBy !== undefined) throw needsReserve(enforced.heldBy)
    const decided = (decision: Decision): CheckResult | Promise<CheckResult> => {
      this.#options.answered(decision, startMs)
      if (decision.allowed && set.shadows.length > 0) return this.#askShadows(open, decision)
      return this.resultOf(enforced, check, decision, startMs)
    }
    const answer = hit(enforced, check)
    if (!(answer instanceof Promise)) return decided(answer)
    return answer.then(decided, (error: unknown) => {
      this.recordError(set.primary)
      throw error
    })
  }

  /** Records and returns the denial of a policy that denies everything. */
  blocked(policy: Policy, check: CheckedRequest, startMs: number): CheckResult {
    const decision = this.blockOf(policy)
    recordCheck(this.#options.stats, check, startMs, { news: { policy, decision }, others: [] })
    return resultOf(policy, decision, false, blockResponder(policy))
  }

  /** Returns the decision of a policy that denies everything. */
  blockOf(policy: Policy): Decision {
    const { policies, retryWithinMs } = this.#options
    return blockDecision(policy, policies.msLeft(policy), retryWithinMs)
  }

  /** Records and returns the decision of the enforced policies, and of those in shadow mode. */
  resultOf(
    enforced: JointLimiter,
    check: CheckedRequest,
    decision: Decision,
    startMs: number,
    shadows: readonly PolicyDecision[] = [],
  ): CheckResult {
    const policy = enforced.policyOf(decision.rule)
    const denied = speaking(shadows.filter(isDenied))
    // After a denial, no other policy was charged. The denial of a policy in shadow mode is the news of an allowed check.
    const others = decision.allowed ? [...enforced.policies.map((each) => ({ policy: each, decision })), ...shadows] : []
    recordCheck(this.#options.stats, check, startMs, { news: denied ?? { policy, decision }, others })
    return resultOf(policy, decision, denied !== undefined, enforced.responder)
  }

  /** Records and returns the result if no policy is enforced. */
  resultOfShadows({ set, check, startMs }: OpenCheck, shadows: readonly PolicyDecision[]): CheckResult {
    const news = speaking(shadows)
    if (news === undefined) return this.free(set.primary, check, startMs)
    recordCheck(this.#options.stats, check, startMs, { news, others: shadows })
    const joint = set.shadows.find(({ policy }) => policy === news.policy)?.joint
    const responder = joint?.responder ?? blockResponder(news.policy)
    return resultOf(news.policy, news.decision, false, responder)
  }

  /** Records and returns the result if no policy counts. */
  free(policy: Policy, check: CheckedRequest, startMs: number): CheckResult {
    const decision = freeDecision(policy)
    recordCheck(this.#options.stats, check, startMs, { news: { policy, decision }, others: [] })
    return resultOf(policy, decision, false, blockResponder(policy))
  }

  /** Counts a check that could not be decided. */
  recordError({ name }: Policy): void {
    const { stats } = this.#options
    stats.recordError(stats.statsOf(name))
  }

  /** Decides each policy in shadow mode by itself. `passed` is the decision of the enforced policies, if there are any. */
  #askShadows(open: OpenCheck, passed: Decision | undefined): CheckResult | Promise<CheckResult> {
    const { set, check, startMs } = open
    const isAlone = passed === undefined
    const answers = set.shadows.map((shadow) => this.#askShadow(shadow, open, isAlone))
    const conclude = (decided: readonly (PolicyDecision | undefined)[]): CheckResult => {
      const shadows = decided.filter((each) => each !== undefined)
      if (isAlone) return this.resultOfShadows(open, shadows)
      return this.resultOf(set.enforced as JointLimiter, check, passed, startMs, shadows)
    }
    return areKnown(answers) ? conclude(answers) : Promise.all(answers).then(conclude)
  }

  /**
   * Returns undefined if the policy cannot be decided: the store failed and there is no fallback, or a rule has nothing but holds.
   * Beside enforced policies, a policy in shadow mode fails no check.
   */
  #askShadow(
    { policy, joint }: ShadowPolicy,
    { set, check, startMs }: OpenCheck,
    isAlone: boolean,
  ): PolicyDecision | undefined | Promise<PolicyDecision | undefined> {
    if (joint === undefined) return { policy, decision: this.blockOf(policy) }
    if (joint.heldBy !== undefined) {
      if (isAlone && policy === set.primary) throw needsReserve(policy)
      return undefined
    }
    const decided = (decision: Decision): PolicyDecision => {
      this.#options.answered(decision, startMs)
      return { policy, decision }
    }
    const answer = hit(joint, check)
    if (!(answer instanceof Promise)) return decided(answer)
    return answer.then(decided, (error: unknown) => {
      if (isAlone && policy === set.primary) {
        this.recordError(policy)
        throw error
      }
      recordShadowError(this.#options.stats, policy)
      return undefined
    })
  }
}

/** `isOtherDenied` tells that the rules of another policy deny, which is in shadow mode. */
function resultOf(policy: Policy, decision: Decision, isOtherDenied: boolean, responder: CheckResult['responder']): CheckResult {
  const isShadow = policy.mode === 'shadow'
  const allowed = decision.allowed || isShadow
  const isShadowDenied = isOtherDenied || (isShadow && isDenied({ policy, decision }))
  const reason = allowed ? undefined : policy.shownReason
  return { policy, decision, allowed, isShadowDenied, responder, ...(reason !== undefined && { reason }) }
}

function hit(joint: JointLimiter, check: CheckedRequest): Decision | Promise<Decision> {
  return joint.limiter.hit(joint.subjectOf(check), { cost: check.cost })
}

/** True if none of the answers is a promise. */
export function areKnown<T>(answers: readonly (T | Promise<T>)[]): answers is readonly T[] {
  return !answers.some((answer) => answer instanceof Promise)
}
