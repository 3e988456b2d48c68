// The response headers that describe a decision.

import type { CheckResult } from '../decide/decider.ts'

/** RateLimit, RateLimit-Policy and, after a denial, Retry-After. A policy with mode `off` has no limit, so no headers. */
export function rateLimitHeaders({ policy, decision, isShadowDenied, responder }: CheckResult): Record<string, string> {
  if (policy.mode === 'off') return {}
  const headers = responder.headers(decision)
  if (isShadowDenied) delete headers['Retry-After']
  return headers
}
