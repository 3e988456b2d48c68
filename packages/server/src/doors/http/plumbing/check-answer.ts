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

/** The `data` of the response to one check, and one result of a batch. Names of policies and rules need no escapes in JSON. */
export function answerData({ policy, allowed, isShadowDenied, decision, reason }: CheckResult): string {
  const { limit, remaining, resetAfterMs } = decision
  const numbers = `"limit":${limit},"remain":${remaining},"reset_in_second":${Math.ceil(resetAfterMs / 1000)}`
  const shadow = isShadowDenied ? ',"shadow_denied":true' : ''
  const fallback = decision.failure === undefined ? '' : `,"fallback":"${decision.failure.then}"`
  const names = `"policy":"${policy.name}","rule":"${decision.rule}"`
  if (allowed) return `{"status":"Allow",${numbers}${shadow}${fallback},${names}}`
  const retry = `"retryable":${decision.retryable},"retry_after_ms":${orNull(decision.retryAfterMs)}`
  return `{"status":"Deny",${numbers}${fallback},${retry},${names}${reason === undefined ? '' : `,"reason":${reason}`}}`
}

/** JSON has no infinity: null stands for never. */
function orNull(ms: number): number | null {
  return ms === Number.POSITIVE_INFINITY ? null : ms
}

/** Body of the response to a reserve: the fields of a check, and the hold if it is allowed. */
export function reserveAnswer(result: ReserveResult, token: string | undefined): string {
  const data = answerData(result)
  if (result.hold === undefined) return `${BEFORE}${data}}`
  const { granted, expiresAt } = result.hold
  const expires_at = expiresAt === 0 ? null : new Date(expiresAt).toISOString()
  return `${BEFORE}${data.slice(0, -1)},${JSON.stringify({ token, granted, expires_at }).slice(1)}}`
}
