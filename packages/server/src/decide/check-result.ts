// The result of a check, and the reason under which it is counted.

import type { Decision } from 'sluice'
import type { Responder } from 'sluice/http'
import type { Policy, PolicyMode } from '../policies/policy.ts'
import { REASON, type Reason } from '../stats/policy-stats.ts'
import { isUncounted } from '../stats/uncounted.ts'

/** The result of a check. */
export interface CheckResult {
  /** The policy of the reported rule: the one that denies, or else the one with the fewest units left. */
  readonly policy: Policy
  /** The decision of the rules. With mode `off` the rules were not asked. */
  readonly decision: Decision
  /** The decision for the caller. The policy's mode may turn a denial of the rules into an allowance. */
  readonly allowed: boolean
  /** True if the rules of a policy in shadow mode deny, and no other policy does. */
  readonly isShadowDenied: boolean
  /** Writes the headers for the decision. */
  readonly responder: Responder
  /** The reason of a denial that the policy shows to callers, as a JSON string in ASCII. */
  readonly reason?: string
}

/** Returns the reason under which the decision of a policy's rules is counted. */
export function reasonFor({ mode }: { readonly mode: PolicyMode }, decision: Decision): Reason {
  const { allowed, retryAfterMs } = decision
  if (mode === 'off') return REASON.off
  if (isUncounted(decision)) return allowed || mode === 'shadow' ? REASON.fallbackAllow : REASON.fallbackDeny
  if (allowed) return REASON.within
  if (mode === 'shadow') return REASON.shadow
  if (decision.limit === 0) return REASON.block
  return retryAfterMs === Number.POSITIVE_INFINITY ? REASON.cost : REASON.limit
}
