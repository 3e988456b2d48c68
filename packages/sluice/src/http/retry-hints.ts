// Hints for clients that retry, as a style: more fields of a denial, and the problem type of a denial that waiting does not cure.

import { mustBe } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { AddFields, ImportedStyle } from './rate-limit-fields.ts'

export interface RetryHintsOptions {
  /** True: a denial that waiting cures has `Retry-After-Ms`, the exact wait in ms. Default: false. */
  readonly milliseconds?: boolean
  /** True: a denial that waiting does not cure has `x-should-retry: false`. Default: false. */
  readonly shouldRetry?: boolean
  /** The problem type of a denial that waiting does not cure: a URI. Default: the type of every denial, `quota-exceeded`. */
  readonly problemType?: string
}

const OPTIONS = ['milliseconds', 'shouldRetry', 'problemType'] as const

/** Printable ASCII without a space: the characters of a URI, and a few more. */
const URI = /^[!-~]+$/

/** Makes a style with hints about retries, for the option `headers`: `['draft-11', retryHints({ shouldRetry: true })]`. */
export function retryHints(options: RetryHintsOptions): ImportedStyle {
  checkOptions('retryHints', options, OPTIONS)
  const { milliseconds = false, shouldRetry = false, problemType } = options
  for (const [name, value] of Object.entries({ milliseconds, shouldRetry })) {
    if (typeof value !== 'boolean') throw mustBe('ERR_OPTION', name, 'true or false', value)
  }
  if (problemType !== undefined && (typeof problemType !== 'string' || !URI.test(problemType))) {
    throw mustBe('ERR_OPTION', 'problemType', 'a URI in ASCII', problemType)
  }
  const addHints: AddFields = (headers, decision, _nowMs, _partition, problem) => {
    if (decision.allowed) return
    if (decision.retryable) {
      if (milliseconds) headers['Retry-After-Ms'] = `${decision.retryAfterMs}`
      return
    }
    if (shouldRetry) headers['x-should-retry'] = 'false'
    if (problem !== undefined && problemType !== undefined) {
      problem.type = problemType
      problem.title = 'Waiting Does Not Help'
    }
  }
  return () => addHints
}
