// Calls operations of the service's public API and unwraps the envelope. Failures become an ApiError with the service's own message.

import { addressOf, type DataOf, type OperationId, type RequestOf } from 'sluice-client/contract'

export interface Problem {
  /** Path of the wrong value, such as `rules[0].limit`. Empty for the whole request. */
  readonly at: string
  readonly message: string
}

export class ApiError extends Error {
  /** The HTTP status; 0 if the service could not be reached. */
  readonly status: number
  readonly code: string
  readonly problems: readonly Problem[]

  constructor(status: number, code: string, message: string, problems: readonly Problem[] = []) {
    super(message)
    this.status = status
    this.code = code
    this.problems = problems
  }

  /** Returns the message of the first problem with the value at a path, or with a part of that value. */
  messageAt(path: string): string | undefined {
    return this.problems.find(({ at }) => at === path || at.startsWith(`${path}.`))?.message
  }
}

interface Envelope {
  readonly meta: { readonly message: string; readonly error?: string; readonly problems?: readonly Problem[] }
  readonly data: unknown
}

let onSignedOut = (): void => {}

/** Registers the callback for a lost session. */
export function whenSignedOut(callback: () => void): void {
  onSignedOut = callback
}

/** Header fields. The contract has no fields with keys, which every operation takes. */
type Headers = Readonly<Record<string, string | undefined>>

/** Calls an operation. Returns the `data` of its answer. */
export async function call<Id extends OperationId>(
  id: Id,
  request: RequestOf<Id> & { readonly header?: Headers } = {},
  signal?: AbortSignal,
): Promise<DataOf<Id>> {
  const { body, header = {} } = request as { readonly body?: unknown; readonly header?: Readonly<Record<string, string>> }
  const { method, path } = addressOf(id, request)
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...header },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'ERR_UNREACHABLE', 'The service cannot be reached. Is it running?')
  }
  const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined
  if (response.ok && envelope !== undefined) return envelope.data as DataOf<Id>
  if (response.status === 401) onSignedOut()
  const { message = `The service answered ${response.status}.`, error = 'ERR_UNKNOWN', problems } = envelope?.meta ?? {}
  throw new ApiError(response.status, error, message, problems)
}

/** Adds a query to the path of a page. Undefined and empty values are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`
}
