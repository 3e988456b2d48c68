// Every way a call to the service can fail. Being denied is an answer, not a failure.

/** What the client itself says; all other codes are the service's own. */
export const CLIENT_ERROR_CODES = {
  ERR_UNREACHABLE: 'No connection to the service could be made: the request was not sent.',
  ERR_DEADLINE: 'The service did not answer in time.',
  ERR_LOST: 'The connection broke before the answer was there: the service may have done it.',
  ERR_ANSWER: 'Something answered that is not this service, or not one of this version.',
  ERR_OPTION: 'An option or argument cannot work; nothing was sent.',
  ERR_CLOSED: 'The client has been closed.',
} as const

export type ClientErrorCode = keyof typeof CLIENT_ERROR_CODES

export interface ClientErrorDetails {
  readonly status?: number
  readonly mayHaveHappened?: boolean
  readonly problems?: readonly { readonly at: string; readonly message: string }[]
  readonly cause?: unknown
}

export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** For programs: one of the client's codes, or the service's, such as ERR_INPUT. */
  readonly code: ClientErrorCode | (string & {})
  /** The HTTP status of the answer; 0 if there was none. */
  readonly status: number
  /** Whether the service may have done what was asked: it was sent, and nobody knows. */
  readonly mayHaveHappened: boolean
  /** For ERR_INPUT: everything that is wrong, and where. */
  readonly problems: readonly { readonly at: string; readonly message: string }[]

  constructor(code: ClientErrorCode | (string & {}), message: string, details: ClientErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status ?? 0
    this.mayHaveHappened = details.mayHaveHappened ?? false
    this.problems = details.problems ?? []
  }

  /** Whether the service is at fault, or the way to it, and not what was asked: the case for a fallback. */
  get isOutage(): boolean {
    return this.status >= 500 || this.code === 'ERR_UNREACHABLE' || this.code === 'ERR_DEADLINE' || this.code === 'ERR_LOST'
  }
}
