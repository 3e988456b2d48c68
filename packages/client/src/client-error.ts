// Errors of calls to the service. A denial is an answer, not an error.

import type { ServiceErrorCode } from './contract/constants.ts'

/** Codes of the client itself. All other codes come from the service. */
export const CLIENT_ERROR_CODES = {
  ERR_UNREACHABLE: 'No connection to the service could be made. The request was not sent.',
  ERR_DEADLINE: 'The service did not answer in time.',
  ERR_LOST: 'The connection broke before the answer arrived. The service may have processed the request.',
  ERR_NOT_ASKED: 'The service has failed several times in a row, so it is not asked for a while.',
  ERR_ANSWER: 'The answer is not from this service, or not from this version of it.',
  ERR_OPTION: 'An option or argument is not valid. Nothing was sent.',
  ERR_CLOSED: 'The client has been closed.',
} as const

export type ClientErrorCode = keyof typeof CLIENT_ERROR_CODES

/** Codes of the client and of the service. A later version of the service may have further codes. */
export type ErrorCode = ClientErrorCode | ServiceErrorCode | (string & {})

/** One problem with the input. */
export interface Problem {
  /** The place: `rules[0].limit`; empty for the whole input. */
  readonly at: string
  readonly message: string
}

export interface ClientErrorDetails {
  readonly status?: number
  readonly mayHaveHappened?: boolean
  readonly problems?: readonly Problem[]
  readonly cause?: unknown
}

/** Codes of failures of the service or the network. */
const OUTAGES: ReadonlySet<string> = new Set<ClientErrorCode>(['ERR_UNREACHABLE', 'ERR_DEADLINE', 'ERR_LOST', 'ERR_NOT_ASKED'])

/** Statuses with which a proxy says that it is too busy or too slow. The service has reasons of its own for them, and names those. */
const BUSY_PROXY: ReadonlySet<number> = new Set([408, 429])

export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** For programs: a code of the client, or a code of the service such as ERR_INPUT. */
  readonly code: ErrorCode
  /** The HTTP status of the response; 0 if there was none. */
  readonly status: number
  /** True if the service may have processed the request: it was sent, and its outcome is unknown. */
  readonly mayHaveHappened: boolean
  /** For ERR_INPUT: every problem with its place. */
  readonly problems: readonly Problem[]

  constructor(code: ErrorCode, message: string, details: ClientErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status ?? 0
    this.mayHaveHappened = details.mayHaveHappened ?? false
    this.problems = details.problems ?? []
  }

  /** True if the service or the network failed, and not the request. Use it to decide about a fallback. */
  get isOutage(): boolean {
    const isOfProxy = this.code === 'ERR_ANSWER' && BUSY_PROXY.has(this.status)
    return this.status >= 500 || OUTAGES.has(this.code) || isOfProxy
  }
}
