// The response bodies of checks. Written by hand instead of JSON.stringify, because every check runs this.

import type { CheckResult } from '../../../decide/decider.ts'
import type { ReserveResult } from '../../../decide/reservations.ts'

const BEFORE = '{"meta":{"message":"success","code":200,"status":"ok"},"data":'

/** Body of the response to one check. */
export function checkAnswer(result: CheckResult): string {
  return `${BEFORE}${answerData(result)}}`
}

/** Body of the response to a batch. */
export function batchAnswer(answers: readonly string[]): string {
  return `${BEFORE}{"results":[${answers.join()}]}}`
}

/** The `data` of the response to one check. */
export function answerData({ allowed, isShadowDenied, decision }: CheckResult): string {
  const { limit, remaining, resetAfterMs } = decision
  const numbers = `"limit":${limit},"remain":${remaining},"reset_in_second":${Math.ceil(resetAfterMs / 1000)}`
  const shadow = isShadowDenied ? ',"shadow_denied":true' : ''
  const fallback = decision.failure === undefined ? '' : `,"fallback":"${decision.failure.then}"`
  const retryable = allowed ? '' : `,"retryable":${decision.retryable}`
  return `{"status":"${allowed ? 'Allow' : 'Deny'}",${numbers}${shadow}${fallback}${retryable}}`
}

/** One result of a batch. It includes `retry_after_ms`, since a batch has no Retry-After header for each check. */
export function resultData(result: CheckResult): string {
  const data = answerData(result)
  if (result.allowed) return data
  const { retryAfterMs } = result.decision
  return `${data.slice(0, -1)},"retry_after_ms":${retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs}}`
}

/** Body of the response to a reserve: the fields of a check, and the hold if it is allowed. */
export function reserveAnswer(result: ReserveResult, token: string | undefined): string {
  const data = resultData(result)
  if (result.hold === undefined) return `${BEFORE}${data}}`
  const { granted, expiresAt } = result.hold
  const expires_at = expiresAt === 0 ? null : new Date(expiresAt).toISOString()
  return `${BEFORE}${data.slice(0, -1)},${JSON.stringify({ token, granted, expires_at }).slice(1)}}`
}
