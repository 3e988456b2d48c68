// `POST /v1/check` directly on node:http: the same steps as its route, without Fastify.
// Invariant: the response equals the route's response byte for byte. A test sends the same requests to both.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Compile } from 'typebox/compile'
import type { CheckResult } from '../decide/decider.ts'
import { ServerError } from '../errors.ts'
import type { Service } from '../service.ts'
import type { Authentication } from './authentication.ts'
import { checkAnswer } from './check-answer.ts'
import { JSON_TYPE } from './envelope.ts'
import { errorAnswer } from './error-answers.ts'
import { parseJson } from './json-body.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'
import { requestHeader } from './request-header.ts'
import { Check } from './schemas.ts'
import { inputError } from './validation.ts'

const JSON_BODY = /^application\/json\s*(;|$)/i

/** True for the usual spelling of a check. Any other spelling takes the route. */
export function isCheck({ url, method }: IncomingMessage): boolean {
  return url === '/v1/check' && method === 'POST'
}

export class CheckDoor {
  readonly #service: Service
  readonly #authentication: Authentication
  readonly #mostBytes: number
  readonly #check = Compile(Check)
  #decided: { readonly response: ServerResponse; readonly result: CheckResult }[] = []

  constructor(service: Service, authentication: Authentication, mostBytes: number) {
    this.#service = service
    this.#authentication = authentication
    this.#mostBytes = mostBytes
  }

  /** Precondition: `isCheck(request)` is true. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      this.#authentication.authenticate(request, 'check')
      this.#checkHead(request)
    } catch (error) {
      this.#fail(response, error)
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= this.#mostBytes) chunks.push(chunk)
      else if (!response.headersSent) this.#fail(response, tooLarge())
    })
    request.on('end', () => {
      if (bytes <= this.#mostBytes) this.#decide(response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    })
  }

  #checkHead(request: IncomingMessage): void {
    if (Number(requestHeader(request, 'content-length') ?? 0) > this.#mostBytes) throw tooLarge()
    if (!JSON_BODY.test(requestHeader(request, 'content-type') ?? '')) {
      throw new ServerError('ERR_MEDIA_TYPE', 'the body must be JSON: send it with Content-Type: application/json')
    }
  }

  #decide(response: ServerResponse, body: Buffer): void {
    try {
      const check = parseJson(body)
      if (!this.#check.Check(check)) throw inputError(Check, check, 'the body')
      const result = this.#service.decider.check(check.client_id, check.route, check.cost ?? 1)
      if (!(result instanceof Promise)) this.#send(response, result)
      else {
        result.then(
          (decided) => this.#send(response, decided),
          (error: unknown) => this.#fail(response, error),
        )
      }
    } catch (error) {
      this.#fail(response, error)
    }
  }

  /**
   * Queues the response. All responses of one turn of the event loop are sent together. A caller that waits for several responses
   * sleeps between them, and waking it takes longer than a decision. So it is woken once.
   */
  #send(response: ServerResponse, result: CheckResult): void {
    if (this.#decided.length === 0) setImmediate(() => this.#sendDecided())
    this.#decided.push({ response, result })
  }

  #sendDecided(): void {
    const decided = this.#decided
    this.#decided = []
    for (const { response, result } of decided) {
      const body = checkAnswer(result)
      const headers: Record<string, string | number> = rateLimitHeaders(result)
      headers['content-type'] = JSON_TYPE
      // The body is ASCII, so its length in characters is its length in bytes.
      headers['content-length'] = body.length
      response.writeHead(200, headers)
      response.end(body)
    }
  }

  #fail(response: ServerResponse, error: unknown): void {
    const { status, headers, body } = errorAnswer(error, this.#service.logger, 'POST /v1/check')
    response.writeHead(status, headers)
    response.end(body)
  }
}

function tooLarge(): ServerError {
  return new ServerError('ERR_TOO_LARGE', 'the body is too large')
}
