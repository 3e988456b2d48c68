// The form of every JSON response: `meta` has the outcome, `data` has the result. `data` is null after an error.

import type { Problem } from '../../../errors.ts'

export interface SuccessMeta {
  readonly message: 'success'
  readonly code: number
  readonly status: 'ok'
}

export interface ErrorMeta {
  /** For people: the problem, the value, and the expected form. */
  readonly message: string
  /** The HTTP status. */
  readonly code: number
  readonly status: 'error'
  /** For programs: one of the error codes. */
  readonly error: string
  /** For ERR_INPUT: every problem with its place. */
  readonly problems?: readonly Problem[]
}

/** The Content-Type of JSON responses. */
export const JSON_TYPE = 'application/json; charset=utf-8'

export function success<T>(data: T, code = 200): { readonly meta: SuccessMeta; readonly data: T } {
  return { meta: { message: 'success', code, status: 'ok' }, data }
}

export function failure(
  code: number,
  error: string,
  message: string,
  problems: readonly Problem[] = [],
): { readonly meta: ErrorMeta; readonly data: null } {
  const meta = { message, code, status: 'error', error } as const
  return { meta: problems.length === 0 ? meta : { ...meta, problems }, data: null }
}
