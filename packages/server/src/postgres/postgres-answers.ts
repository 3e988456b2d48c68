// Describes failures of PostgreSQL: "PostgreSQL refuses" is not "PostgreSQL does not answer".

import { messageOf, ServerError } from '../errors.ts'

/** A code of an error reply: five digits and capitals. Errors of the system have other codes, such as ECONNREFUSED. */
const SQL_STATE = /^[0-9A-Z]{5}$/

/** Classes of codes about a server that stops, starts or loses connections. */
const GONE = /^(08|57P)/

/** Codes about the login or missing permissions. */
const LOGIN_REFUSED = /^(28|42501$|3D000$)/

/** Returns the code of an error reply; undefined if the error is not a reply. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && SQL_STATE.test(code) ? code : undefined
}

/** Describes a failure of PostgreSQL, as the start of a sentence. */
export function postgresTrouble(error: unknown): string {
  const cause = error instanceof ServerError ? error.cause : error
  const state = sqlStateOf(cause)
  if (state === undefined || GONE.test(state)) return 'PostgreSQL does not answer'
  const message = messageOf(cause)
  return LOGIN_REFUSED.test(state) ? `PostgreSQL refuses the login (${message})` : `PostgreSQL refuses (${message})`
}
