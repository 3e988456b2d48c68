// Sorts the errors of Postgres, PgBouncer and their clients by SQLSTATE. The severity of an error is translated by servers, and is not used.

import type { StoreErrorKind } from '../../engines/store-errors.ts'

/**
 * States of errors that end the connection, or that report an outcome in doubt. After them a commit may or may not have happened:
 * connection failures, shutdown, a session that was ended, and internal errors.
 */
const IN_DOUBT = /^(?:08|57P0[1245]|25P0[34]|40003|58|F0|XX)/

/** States of errors while connecting. Nothing was sent. */
const NOT_CONNECTED = /^(?:08001|08004|53300|57P03)/

/** States of errors that repeating does not help: missing rights, tables or databases, a wrong password, and bad
 * statements. 42P05 is a prepared statement that exists already: the next transaction does not prepare it. */
const FATAL = /^(?:0A|22|28|3D|3F|42(?!P05)|54)/

/** Code of postgres.js for a connection that was not made in time. */
const CONNECT_TIMEOUT = 'CONNECT_TIMEOUT'

/**
 * - A server that reports any other state has rolled the transaction back: `refused`.
 * - An error without a state, or with one in doubt, is not sorted: the engine knows whether anything was sent.
 */
export function postgresErrorKind(error: unknown): StoreErrorKind | undefined {
  const code = codeOf(error)
  if (code === CONNECT_TIMEOUT) return 'refused'
  if (code === undefined || !isState(code)) return undefined
  if (NOT_CONNECTED.test(code)) return 'refused'
  if (IN_DOUBT.test(code)) return undefined
  return FATAL.test(code) ? 'fatal' : 'refused'
}

/** True if the server reported the error, and the connection can still be used. The transaction has failed. */
export function isServerRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && isState(code) && !IN_DOUBT.test(code) && !NOT_CONNECTED.test(code)
}

/** True if the table does not exist. */
export function isMissingTable(error: unknown): boolean {
  return codeOf(error) === '42P01'
}

/** True if a function does not exist, or the type that functions use. */
export function isMissingFunction(error: unknown): boolean {
  return /^(?:42883|42704)$/.test(codeOf(error) ?? '')
}

/** True for an error inside the server, such as the type of a cached plan that does not exist any more. */
export function isInternal(error: unknown): boolean {
  return codeOf(error) === 'XX000'
}

/** True if a prepared statement is not there, or is there already, or has changed. It was not executed. */
export function isUnprepared(error: unknown): boolean {
  return /^(?:26000|42P05|0A000)$/.test(codeOf(error) ?? '')
}

/**
 * True if the role may not make functions, if everything is read-only, or if the server has no functions of this kind: missing rights,
 * a language that is missing, and a grammar without them.
 */
export function isNotAllowed(error: unknown): boolean {
  return /^(?:42501|25006|0A000|42704|42601)$/.test(codeOf(error) ?? '')
}

/** Codes of Node begin with an E, such as EPIPE. No SQLSTATE does. */
function isState(code: string): boolean {
  return /^(?!E)[0-9A-Z]{5}$/.test(code)
}

/** Returns the code of an error: a SQLSTATE, or a code of Node or of a client. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : undefined
}
