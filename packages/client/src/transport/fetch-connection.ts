// Requests by fetch, which every runtime has.
// fetch does not say if a request was sent. Where the runtime names the reason, a refused connection counts as not sent; every other
// failure counts as one that may have arrived.

import {
  type Connection,
  type HttpAnswer,
  type HttpCall,
  MOST_ANSWER_CHARACTERS,
  NotSent,
  prefixOf,
  type SentCall,
  sharedHeaders,
} from './connection.ts'

/** As much of fetch as the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** As much of RequestInit as the client uses. */
export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}

/** As much of a Response as the client reads. */
export interface FetchResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: { getReader(): { read(): Promise<{ readonly value?: Uint8Array | undefined }> } } | null
  text(): Promise<string>
}

/** Codes of errors that mean that no connection was made, in Node, Bun and Deno. */
const NO_CONNECTION: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOENT', 'EAI_AGAIN', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'ConnectionRefused', 'FailedToOpenSocket'],
])

export class FetchConnection implements Connection {
  readonly #fetch: Fetch
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #open = new Set<AbortController>()

  constructor(url: string, apiKey: string | undefined, fetch: Fetch | undefined) {
    // A global fetch is looked up at each call, because test runners and tracers replace it.
    this.#fetch = fetch ?? ((...args) => globalThis.fetch(...args))
    const parts = new URL(url)
    this.#base = parts.origin + prefixOf(parts)
    this.#headers = sharedHeaders(apiKey)
  }

  send({ method, path, body, headers }: HttpCall): SentCall {
    const controller = new AbortController()
    const init: FetchInit = {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body }),
      // A redirect would lead to another server, which is not the service.
      redirect: 'manual',
      signal: controller.signal,
    }
    this.#open.add(controller)
    const answer = this.#ask(this.#base + path, init).finally(() => {
      this.#open.delete(controller)
      // The rest of an answer that is too long is not read.
      controller.abort()
    })
    return { answer, mayBeSent: true, abort: () => controller.abort() }
  }

  close(): void {
    for (const controller of this.#open) controller.abort()
  }

  async #ask(url: string, init: FetchInit): Promise<HttpAnswer> {
    try {
      const response = await this.#fetch(url, init)
      return { status: response.status, body: await boundedText(response) }
    } catch (error) {
      throw notSent(error) ?? error
    }
  }
}

/** Reads the body. Throws if it is too long. The service names the length of its answers, so that most are read in one piece. */
async function boundedText(response: FetchResponse): Promise<string> {
  const bytes = Number(response.headers.get('content-length') ?? Number.NaN)
  if (bytes <= MOST_ANSWER_CHARACTERS) return response.text()
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { value } = (await reader?.read()) ?? {}
    if (value === undefined) return text + decoder.decode()
    text += decoder.decode(value, { stream: true })
    if (text.length > MOST_ANSWER_CHARACTERS) throw new Error('the answer is too long')
  }
}

/** Returns NotSent if the runtime says that no connection was made. */
function notSent(error: unknown): NotSent | undefined {
  const causes = [error, (error as { cause?: unknown } | null)?.cause]
  const named = causes.find((each) => NO_CONNECTION.has((each as { code?: unknown } | null)?.code))
  return named === undefined ? undefined : new NotSent(named as Error)
}
