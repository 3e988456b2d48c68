// The contract of a connection: how one request gets to the service and its response comes back.

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path including the query, without the path of the service's URL. */
  readonly path: string
  /** JSON text. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

/** One request under way. */
export interface SentCall {
  /** Rejects with NotSent if nothing was sent, with any other error if the request may have arrived. */
  readonly answer: Promise<HttpAnswer>
  /** True if the request may have been sent. */
  readonly mayBeSent: boolean
  /** Ends the request. Its answer is not read. */
  abort(): void
}

export interface Connection {
  send(call: HttpCall): SentCall
  /** Closes the connections. Open requests fail. */
  close(): void
}

/** Longest answer, in characters. Pages of policies are the largest: 1,000 policies take a megabyte or two. */
export const MOST_ANSWER_CHARACTERS = 64 * 1024 * 1024

/** Errors that occur before anything is sent, and that may go away, for example while a service restarts. */
const TRANSIENT: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'],
  // Bun's word for ECONNREFUSED.
  'ConnectionRefused',
])

/** Nothing was sent. */
export class NotSent extends Error {
  /** True if it may help to try again. */
  readonly isTransient: boolean

  constructor(cause: Error & { readonly code?: unknown }) {
    super((cause.message || String(cause.code ?? '')).trim(), { cause })
    this.isTransient = TRANSIENT.has(cause.code)
  }
}

/** Header fields of every request. */
export function sharedHeaders(apiKey: string | undefined): Readonly<Record<string, string>> {
  return { accept: 'application/json', ...(apiKey === undefined ? {} : { 'api-key': apiKey }) }
}

/** Returns the path of a URL without slashes at its end. The paths of the API follow it. */
export function prefixOf({ pathname }: { readonly pathname: string }): string {
  return pathname.replace(/\/+$/, '')
}
