// The decisions of the policies that apply to one check: which of them speaks, and how the check is recorded.
// Invariant: every check is recorded once in the totals, and once under each policy that decided it.

import type { Decision } from 'sluice'
import type { Policy } from '../policies/policy.ts'
import { REASON } from '../stats/policy-stats.ts'
import type { CheckedRequest, Stats } from '../stats/stats.ts'
import { isUncounted } from '../stats/uncounted.ts'
import { reasonFor } from './check-result.ts'

/** The decision of one policy, or of several enforced ones together, of which `policy` speaks. */
export interface PolicyDecision {
  readonly policy: Policy
  readonly decision: Decision
}

/** True if the rules deny. If nothing was counted, they did not. */
export function isDenied({ decision }: PolicyDecision): boolean {
  return !decision.allowed && !isUncounted(decision)
}

/** Returns the denial with the longest wait. If none denies, returns the decision with the fewest units left. */
export function speaking(decisions: readonly PolicyDecision[]): PolicyDecision | undefined {
  const denials = decisions.filter(isDenied)
  const among = denials.length > 0 ? denials : decisions
  const rank = ({ decision }: PolicyDecision): number => (denials.length > 0 ? -decision.retryAfterMs : decision.remaining)
  return among.length === 0 ? undefined : among.reduce((first, each) => (rank(each) < rank(first) ? each : first))
}

/**
 * Records a check. `news` goes to the totals and the events. The policies of `others` were charged too, and are counted under their own
 * names.
 */
export function recordCheck(
  stats: Stats,
  check: CheckedRequest,
  startMs: number,
  { news, others }: { readonly news: PolicyDecision; readonly others: Iterable<PolicyDecision> },
): void {
  const { policy, decision } = news
  stats.checkSeconds.observe((performance.now() - startMs) / 1000)
  stats.record(stats.statsOf(policy.name), policy.name, reasonFor(policy, decision), check, decision)
  recordShadow(stats, check, news)
  for (const each of others) {
    if (each.policy === policy) continue
    stats.recordMember(stats.statsOf(each.policy.name), reasonFor(each.policy, each.decision))
    recordShadow(stats, check, each)
  }
}

/** Counts a check for the report of its policy, if the policy is in shadow mode. */
function recordShadow(stats: Stats, { clientId }: CheckedRequest, { policy, decision }: PolicyDecision): void {
  if (policy.mode !== 'shadow') return
  // The label of a rule may have its policy before it.
  const rule = isDenied({ policy, decision }) ? decision.rule.slice(decision.rule.indexOf('/') + 1) : undefined
  stats.recordShadow(policy, clientId, rule)
}

/** Counts a check that a policy in shadow mode could not decide. */
export function recordShadowError(stats: Stats, { name }: Policy): void {
  stats.recordMember(stats.statsOf(name), REASON.store)
}
