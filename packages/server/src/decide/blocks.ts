// Decisions for which the store is not asked: those of a policy that denies everything, because its mode is `deny` or it has a rule of
// limit 0, and those of a policy that is off.

import { type Decision, decide, fixedWindow, type Rule } from 'sluice'
import { createResponder, type Responder } from 'sluice/http'
import type { Policy } from '../policies/policy.ts'
import { labelOf } from './joint-limiter.ts'

/** Name of the rule in decisions of a policy with mode `deny`. */
const DENY = 'deny'

/**
 * Returns the decision of a policy that denies everything. `msLeft` is the time until the policy expires. Waiting helps only if the
 * policy expires, within `retryWithinMs`.
 */
export function blockDecision(policy: Policy, msLeft: number, retryWithinMs: number): Decision {
  const resetAfterMs = msLeft === Number.POSITIVE_INFINITY ? 0 : msLeft
  const decision = decide([ruleOf(policy)], [0, msLeft, resetAfterMs])
  return Object.defineProperty(decision, 'retryable', { value: msLeft <= retryWithinMs })
}

/** Returns the decision of a policy that is off: nothing is used. */
export function freeDecision(policy: Policy): Decision {
  const rules = policy.rules.length === 0 ? [ruleOf(policy)] : policy.rules
  return decide(
    rules,
    rules.flatMap(() => [0, 0, 0]),
  )
}

/** Returns a responder that writes Retry-After and no limits, because none was counted. */
export function blockResponder(policy: Policy): Responder {
  return createResponder({ rules: [ruleOf(policy)], headers: false })
}

/** Returns a rule that only describes: the library has no rule of limit 0, and none is asked. */
function ruleOf(policy: Policy): Rule {
  const name = labelOf(policy, policy.mode === DENY ? DENY : (policy.closedBy ?? DENY))
  const rule = fixedWindow({ limit: 1, window: 1, name })
  return Object.create(rule, { limit: { value: 0 } })
}
