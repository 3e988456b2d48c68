// `POST /v1/check` without Fastify: the same steps as its route, for requests of node:http and for those of fast-checks/.
// Invariant: the response equals the route's response byte for byte. A test sends the same requests to both.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { Check } from '../../contract/schemas.ts'
import type { CheckResult } from '../../decide/decider.ts'
import { ServerError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { rateLimitHeaders } from '../rate-limit-headers.ts'
import type { Authentication } from './authentication.ts'
import { checkAnswer } from './plumbing/check-answer.ts'
import { JSON_TYPE } from './plumbing/envelope.ts'
import { errorAnswer } from './plumbing/error-answers.ts'
import { parseJson } from './plumbing/json-body.ts'
import { requestHeader } from './plumbing/request-header.ts'
import { inputError } from './plumbing/validation.ts'

export type CheckInput = Static<typeof Check>

/** Sends the response to one check. */
export interface Answerer {
  /** Sends a decision: `fields` and a JSON body in ASCII, with status 200. */
  decided(fields: Record<string, string>, body: string): void
  answer(status: number, headers: Record<string, string | number>, body: string): void
}

const JSON_BODY = /^application\/json\s*(;|$)/i

/** True for the usual spelling of a check. Any other spelling takes the route. */
export function isCheck({ url, method }: IncomingMessage): boolean {
  return url === '/v1/check' && method === 'POST'
}

export class CheckDoor {
  readonly #service: Service
  readonly #authentication: Authentication
  /** Maximum length of a body. */
  readonly mostBytes: number
  readonly #check = Compile(Check)
  #decided: { readonly to: Answerer; readonly result: CheckResult }[] = []

  constructor(service: Service, authentication: Authentication, mostBytes: number) {
    this.#service = service
    this.#authentication = authentication
    this.mostBytes = mostBytes
  }

  /** Precondition: `isCheck(request)` is true. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    const to = new ResponseAnswerer(response)
    try {
      this.#authentication.authenticate(request, 'check')
      this.#checkHead(request)
    } catch (error) {
      this.#fail(to, error)
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= this.mostBytes) chunks.push(chunk)
      else if (!response.headersSent) this.#fail(to, tooLarge())
    })
    request.on('end', () => {
      if (bytes <= this.mostBytes) this.#readAndDecide(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), to)
    })
  }

  /** Throws ERR_INPUT. */
  read(body: Buffer): CheckInput {
    const check = parseJson(body)
    if (!this.#check.Check(check)) throw inputError(Check, check, 'the body')
    return check
  }

  /** Decides and spends. Answers later, also if the check cannot be decided. */
  decide({ client_id: clientId, route, attributes, cost = 1 }: CheckInput, to: Answerer): void {
    try {
      const result = this.#service.decider.check({ clientId, route, attributes, cost })
      if (!(result instanceof Promise)) this.#send(to, result)
      else {
        result.then(
          (decided) => this.#send(to, decided),
          (error: unknown) => this.#fail(to, error),
        )
      }
    } catch (error) {
      this.#fail(to, error)
    }
  }

  #checkHead(request: IncomingMessage): void {
    if (Number(requestHeader(request, 'content-length') ?? 0) > this.mostBytes) throw tooLarge()
    if (!JSON_BODY.test(requestHeader(request, 'content-type') ?? '')) {
      throw new ServerError('ERR_MEDIA_TYPE', 'the body must be JSON: send it with Content-Type: application/json')
    }
  }

  #readAndDecide(body: Buffer, to: Answerer): void {
    let check: CheckInput
    try {
      check = this.read(body)
    } catch (error) {
      this.#fail(to, error)
      return
    }
    this.decide(check, to)
  }

  /**
   * Queues the response. All responses of one turn of the event loop are sent together. A caller that waits for several responses
   * sleeps between them, and waking it takes longer than a decision. So it is woken once.
   */
  #send(to: Answerer, result: CheckResult): void {
    if (this.#decided.length === 0) setImmediate(() => this.#sendDecided())
    this.#decided.push({ to, result })
  }

  #sendDecided(): void {
    const decided = this.#decided
    this.#decided = []
    for (const { to, result } of decided) to.decided(rateLimitHeaders(result), checkAnswer(result))
  }

  #fail(to: Answerer, error: unknown): void {
    const { status, headers, body } = errorAnswer(error, this.#service.logger, 'POST /v1/check')
    to.answer(status, headers, body)
  }
}

class ResponseAnswerer implements Answerer {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  decided(fields: Record<string, string>, body: string): void {
    this.answer(200, { ...fields, 'content-type': JSON_TYPE, 'content-length': body.length }, body)
  }

  answer(status: number, headers: Record<string, string | number>, body: string): void {
    this.#response.writeHead(status, headers)
    this.#response.end(body)
  }
}

function tooLarge(): ServerError {
  return new ServerError('ERR_TOO_LARGE', 'the body is too large')
}
