// What a check is answered, written by hand: every check runs this.

import type { Verdict } from '../decide/decider.ts'

const BEFORE = '{"meta":{"message":"success","code":200,"status":"ok"},"data":'

/** The whole body of a check's answer. */
export function checkAnswer(verdict: Verdict): string {
  return `${BEFORE}${answerData(verdict)}}`
}

/** The whole body of a batch's answer. */
export function batchAnswer(answers: readonly string[]): string {
  return `${BEFORE}{"results":[${answers.join()}]}}`
}

/** The `data` of a check's answer. */
export function answerData({ allowed, isShadowDenied, decision }: Verdict): string {
  const { limit, remaining, resetAfterMs } = decision
  const numbers = `"limit":${limit},"remain":${remaining},"reset_in_second":${Math.ceil(resetAfterMs / 1000)}`
  return `{"status":"${allowed ? 'Allow' : 'Deny'}",${numbers}${isShadowDenied ? ',"shadow_denied":true' : ''}}`
}

/** What one check of a batch is answered. There is no header to tell it when to come again. */
export function resultData(verdict: Verdict): string {
  const data = answerData(verdict)
  if (verdict.allowed) return data
  const { retryAfterMs } = verdict.decision
  return `${data.slice(0, -1)},"retry_after_ms":${retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs}}`
}
