// The form of every answer: `meta` says how it went, `data` is what was asked for, null if it went wrong.

import type { Problem } from '../errors.ts'

export interface SuccessMeta {
  readonly message: 'success'
  readonly code: number
  readonly status: 'ok'
}

export interface ErrorMeta {
  /** For people: what is wrong, the value, what is expected. */
  readonly message: string
  /** The HTTP status. */
  readonly code: number
  readonly status: 'error'
  /** For programs: one of the error codes. */
  readonly error: string
  /** For ERR_INPUT: everything that is wrong, and where. */
  readonly problems?: readonly Problem[]
}

/** What is sent with an answer in JSON. */
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
