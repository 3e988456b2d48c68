// Calls the service's public API and unwraps the envelope. Failures become an ApiError with the service's own message.

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

export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

let onSignedOut = (): void => {}

/** Registers the callback for a lost session. */
export function whenSignedOut(callback: () => void): void {
  onSignedOut = callback
}

export async function call<T>(method: string, path: string, { body, headers = {}, signal }: CallOptions = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'ERR_UNREACHABLE', 'The service cannot be reached. Is it running?')
  }
  const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined
  if (response.ok && envelope !== undefined) return envelope.data as T
  if (response.status === 401) onSignedOut()
  const { message = `The service answered ${response.status}.`, error = 'ERR_UNKNOWN', problems } = envelope?.meta ?? {}
  throw new ApiError(response.status, error, message, problems)
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>('GET', path, signal && { signal })

/** Adds a query to a path. Undefined and empty values are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`
}
