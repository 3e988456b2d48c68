// The response headers that describe a decision.

import type { CheckResult } from '../decide/check-result.ts'

/** A decision for which headers are written. */
export type Decided = Pick<CheckResult, 'policy' | 'decision' | 'allowed' | 'responder'>

/**
 * RateLimit, RateLimit-Policy and, after a denial that waiting cures, Retry-After. A policy with mode `off` has no limit, so no headers.
 * If the store failed and nothing was counted, only Retry-After is left.
 */
export function rateLimitHeaders({ policy, decision, allowed, responder }: Decided): Record<string, string> {
  if (policy.mode === 'off') return {}
  const headers = responder.headers(decision)
  // In shadow mode a check is allowed that the rules or the fallback deny.
  if (allowed && 'Retry-After' in headers) delete headers['Retry-After']
  return headers
}
