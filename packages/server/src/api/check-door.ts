// `POST /v1/check` straight from node:http: the same steps as its route, without a framework between them.
// What must stay true: what it answers is what the route answers, byte for byte; a test sends both the same requests.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Compile } from 'typebox/compile'
import type { Verdict } from '../decide/decider.ts'
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

/** Exactly as clients write it; any other spelling takes the route. */
export function isCheck({ url, method }: IncomingMessage): boolean {
  return url === '/v1/check' && method === 'POST'
}

export class CheckDoor {
  readonly #service: Service
  readonly #authentication: Authentication
  readonly #mostBytes: number
  readonly #check = Compile(Check)
  #decided: { readonly response: ServerResponse; readonly verdict: Verdict }[] = []

  constructor(service: Service, authentication: Authentication, mostBytes: number) {
    this.#service = service
    this.#authentication = authentication
    this.#mostBytes = mostBytes
  }

  /** Answers a request for which `isCheck` holds. */
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
      const verdict = this.#service.decider.check(check.client_id, check.route, check.cost ?? 1)
      if (!(verdict instanceof Promise)) this.#send(response, verdict)
      else {
        verdict.then(
          (decided) => this.#send(response, decided),
          (error: unknown) => this.#fail(response, error),
        )
      }
    } catch (error) {
      this.#fail(response, error)
    }
  }

  /**
   * Answers what was decided, together with all else that is decided in this turn of the event loop. A caller who waits for one answer
   * after the other sleeps in between, and waking it takes longer than a decision; so it is woken once.
   */
  #send(response: ServerResponse, verdict: Verdict): void {
    if (this.#decided.length === 0) setImmediate(() => this.#sendDecided())
    this.#decided.push({ response, verdict })
  }

  #sendDecided(): void {
    const decided = this.#decided
    this.#decided = []
    for (const { response, verdict } of decided) {
      const body = checkAnswer(verdict)
      const headers: Record<string, string | number> = rateLimitHeaders(verdict)
      headers['content-type'] = JSON_TYPE
      // All of it is ASCII.
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
