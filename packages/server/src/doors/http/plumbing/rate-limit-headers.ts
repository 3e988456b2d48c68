// The response headers that describe a decision.

import type { CheckResult } from '../../../decide/decider.ts'

/**
 * RateLimit, RateLimit-Policy and, after a denial that waiting cures, Retry-After. A policy with mode `off` has no limit, so no headers.
 * If the store failed and nothing was counted, only Retry-After is left.
 */
export function rateLimitHeaders({ policy, decision, allowed, responder }: CheckResult): Record<string, string> {
  if (policy.mode === 'off') return {}
  const headers = responder.headers(decision)
  // In shadow mode a check is allowed that the rules or the fallback deny.
  if (allowed) delete headers['Retry-After']
  return headers
}
