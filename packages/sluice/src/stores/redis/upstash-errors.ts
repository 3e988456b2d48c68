// Errors of Upstash's REST API and of fetch, sorted where their texts are not those of Redis.

import { SluiceError } from '../../core/errors.ts'
import { sortByCode } from '../../engines/store-errors.ts'

/** Upstash's own errors of requests that it did not execute, because of a quota. */
const OVER_QUOTA = /^ERR max (?:daily request limit|requests limit|concurrent connections) exceeded/

/** Upstash's own errors about the token or the request. Repeating the request does not help. */
const NOT_ACCEPTED = /^(?:Unauthorized|ERR max (?:request|single record|key) size exceeded)/

/** Codes of Node and Bun for a connection that was never open, beside those that `sortByCode` knows. */
const NOT_CONNECTED: readonly unknown[] = ['UND_ERR_CONNECT_TIMEOUT', 'ConnectionRefused', 'FailedToOpenSocket']

/** Makes the error of a command from the text that Upstash answered. Texts of Redis stay as they are, to be sorted as such. */
export function upstashError(text: string): Error {
  if (OVER_QUOTA.test(text)) return new SluiceError('ERR_STORE_REFUSED', `Upstash refused: ${text}`)
  if (NOT_ACCEPTED.test(text)) return new SluiceError('ERR_STORE_FATAL', `Upstash cannot be used like this: ${text}`)
  return new Error(text)
}

/** Makes the error of a fetch without an answer: refused if nothing was sent, unknown otherwise. */
export function fetchError(thrown: unknown): SluiceError {
  const cause = (thrown as Error | undefined)?.cause
  const words = [thrown, cause]
    .filter((error) => error instanceof Error && error.message !== '')
    .map((error) => (error as Error).message)
  const said = words.join(': ') || String(thrown)
  if ([thrown, cause].some(isNotSent))
    return new SluiceError('ERR_STORE_REFUSED', `Upstash is not reached: ${said}`, { cause: thrown })
  return new SluiceError('ERR_STORE_UNKNOWN', `Upstash did not answer, so the call may have been counted: ${said}`, {
    cause: thrown,
  })
}

function isNotSent(error: unknown): boolean {
  return sortByCode(error) === 'refused' || NOT_CONNECTED.includes((error as { code?: unknown } | undefined)?.code)
}
