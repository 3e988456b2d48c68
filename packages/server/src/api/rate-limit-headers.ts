// What the headers of an answer say about a decision.

import type { Verdict } from '../decide/decider.ts'

/** RateLimit, RateLimit-Policy and, for those who are denied, Retry-After. A policy that is off has no limit to tell of. */
export function rateLimitHeaders({ policy, decision, isShadowDenied, responder }: Verdict): Record<string, string> {
  if (policy.mode === 'off') return {}
  const headers = responder.headers(decision)
  if (isShadowDenied) delete headers['Retry-After']
  return headers
}
