// Describes failures of PostgreSQL: "PostgreSQL refuses" is not "PostgreSQL does not answer".

import { messageOf, ServerError } from '../../errors.ts'

/** A code of an error reply: five digits and capitals. Errors of the system have other codes, such as ECONNREFUSED. */
const SQL_STATE = /^[0-9A-Z]{5}$/

/** Classes of codes about a server that stops, starts or loses connections. */
const GONE = /^(08|57P)/

/** Codes about the login or missing permissions. */
const LOGIN_REFUSED = /^(28|42501$|3D000$)/

/** Message of the client if the server refuses TLS. It has no code. */
const NO_TLS = 'The server does not support SSL connections'

/** Codes of Node for a certificate that is not accepted. */
const BAD_CERTIFICATE = /SELF_SIGNED|CERT|UNABLE_TO_VERIFY/

/** Returns the code of an error reply; undefined if the error is not a reply. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && SQL_STATE.test(code) ? code : undefined
}

/** True if the server has not refused the statement: it did not answer, or it stopped or lost the connection. */
export function isGone(error: unknown): boolean {
  const state = sqlStateOf(error)
  return state === undefined || GONE.test(state)
}

/** Describes a failure of PostgreSQL, as the start of a sentence. */
export function postgresTrouble(error: unknown): string {
  const cause = error instanceof ServerError ? error.cause : error
  const state = sqlStateOf(cause)
  const message = messageOf(cause)
  if (state === undefined) return tlsTrouble(cause, message) ?? 'PostgreSQL does not answer'
  if (GONE.test(state)) return 'PostgreSQL does not answer'
  return LOGIN_REFUSED.test(state) ? `PostgreSQL refuses the login (${message})` : `PostgreSQL refuses (${message})`
}

/** Describes a failure of TLS; undefined for another failure. */
function tlsTrouble(error: unknown, message: string): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  if (message === NO_TLS) {
    return 'PostgreSQL offers no TLS, which sslmode in the address asks for: turn ssl on in its configuration, or use sslmode=disable'
  }
  if (BAD_CERTIFICATE.test(code ?? '')) {
    return `the certificate of PostgreSQL is not accepted (${message}): name its authority with sslrootcert in the address`
  }
  // The only files that the client opens are those of certificates and keys.
  return syscall === 'open' ? `a file in the address of PostgreSQL cannot be read (${message})` : undefined
}
