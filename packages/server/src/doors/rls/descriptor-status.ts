// The answer to a request: the status of each descriptor, the overall code, and headers and body for the proxy's client.

import { labelOf } from '../../decide/joint-limiter.ts'
import { unitOf } from '../../policies/envoy/units.ts'
import { isUncounted } from '../../stats/uncounted.ts'
import { type Decided, rateLimitHeaders } from '../rate-limit-headers.ts'
import { CODE, type DescriptorStatus, type HeaderValue, MOST_UINT32, type RateLimitResponse } from './protocol.ts'

/** The outcome under a limit of 0, which nothing passes. */
export const BLOCKED = 'blocked'

/** The result for one descriptor. Undefined if no policy matches it: then it has no limit. */
export type Outcome = Decided | typeof BLOCKED | undefined

export function isDenied(outcome: Outcome): boolean {
  return outcome === BLOCKED || outcome?.allowed === false
}

/** True if the rules allowed it. A policy in shadow mode allows more than its rules. */
export function isCharged(outcome: Outcome): boolean {
  return outcome !== BLOCKED && outcome?.decision.allowed === true
}

const WITHOUT_LIMIT: DescriptorStatus = { code: CODE.OK, limit_remaining: 0 }

/** A policy that is off. The reference server answers so for `unlimited`. */
const UNLIMITED: DescriptorStatus = { code: CODE.OK, limit_remaining: MOST_UINT32 }

const OVER_LIMIT: DescriptorStatus = { code: CODE.OVER_LIMIT, limit_remaining: 0 }

export function responseTo(outcomes: readonly Outcome[]): RateLimitResponse {
  const overall_code = outcomes.some(isDenied) ? CODE.OVER_LIMIT : CODE.OK
  const statuses = outcomes.map(statusOf)
  const speaker = speakerOf(outcomes)
  if (speaker === undefined || speaker.allowed !== (overall_code === CODE.OK)) return { overall_code, statuses }
  const headers = rateLimitHeaders(speaker)
  // The proxy answers 429. A problem about a store that failed would have another status.
  if (speaker.allowed || isUncounted(speaker.decision)) {
    return { overall_code, statuses, response_headers_to_add: headerValues(headers) }
  }
  const { body, headers: fields } = speaker.responder.denial(speaker.decision)
  headers['Content-Type'] = fields['Content-Type']
  return { overall_code, statuses, response_headers_to_add: headerValues(headers), raw_body: Buffer.from(body) }
}

function statusOf(outcome: Outcome): DescriptorStatus {
  if (outcome === undefined) return WITHOUT_LIMIT
  if (outcome === BLOCKED) return OVER_LIMIT
  const { policy, decision, allowed } = outcome
  if (policy.mode === 'off') return UNLIMITED
  const code = allowed ? CODE.OK : CODE.OVER_LIMIT
  if (isUncounted(decision)) return { code, limit_remaining: 0 }
  const { limit, remaining, rule: name, retryAfterMs, resetAfterMs } = decision
  const windowMs = policy.rules.find((rule) => labelOf(policy, rule.name) === name)?.windowMs ?? 0
  // Envoy makes Retry-After of it. A cost above the limit has no wait that helps.
  const untilMs = decision.allowed || retryAfterMs === Number.POSITIVE_INFINITY ? resetAfterMs : retryAfterMs
  return {
    code,
    current_limit: { requests_per_unit: Math.min(limit, MOST_UINT32), unit: unitOf(windowMs), name },
    limit_remaining: Math.min(remaining, MOST_UINT32),
    // Envoy reads whole seconds only, and drops the rest.
    duration_until_reset: { seconds: Math.ceil(untilMs / 1000) },
  }
}

/** Returns the outcome that headers and body describe: the denial with the longest wait, or else the one with the fewest units left. */
function speakerOf(outcomes: readonly Outcome[]): Decided | undefined {
  let speaker: Decided | undefined
  for (const outcome of outcomes) {
    if (outcome === undefined || outcome === BLOCKED || outcome.policy.mode === 'off') continue
    if (speaker === undefined || speaksBefore(outcome, speaker)) speaker = outcome
  }
  return speaker
}

function speaksBefore(a: Decided, b: Decided): boolean {
  if (a.allowed !== b.allowed) return !a.allowed
  return a.allowed ? a.decision.remaining < b.decision.remaining : a.decision.retryAfterMs > b.decision.retryAfterMs
}

function headerValues(headers: Readonly<Record<string, string>>): readonly HeaderValue[] {
  const values: HeaderValue[] = []
  for (const name in headers) values.push({ key: name.toLowerCase(), value: headers[name] })
  return values
}
