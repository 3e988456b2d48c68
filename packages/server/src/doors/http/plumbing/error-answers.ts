// Turns errors into responses: every error gets one of the service's codes, in the same envelope as other responses.
// Invariant: a response reveals nothing internal, and only unexpected errors are logged as errors.

import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { SluiceError } from 'sluice'
import { codeOfLibrary, SERVER_ERROR_CODES, ServerError, type ServerErrorCode } from '../../../errors.ts'
import { Refusal } from '../authentication.ts'
import type { BuiltPages } from '../pages/page-routes.ts'
import { failure, JSON_TYPE } from './envelope.ts'
import { UnusableBody } from './json-body.ts'
import { KnownPaths } from './known-paths.ts'

/** Errors of Fastify that a request can cause. */
const FROM_FASTIFY: Readonly<Record<string, readonly [ServerErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['ERR_TOO_LARGE', 'the body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['ERR_MEDIA_TYPE', 'the body must be JSON: send it with Content-Type: application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['ERR_INPUT', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['ERR_INPUT', 'the path cannot be decoded'],
}

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Record<string, string | number>
  readonly body: string
}

/** Returns the response for an error. Logs unexpected errors. */
export function errorAnswer(error: unknown, logger: Logger, where: string): ErrorAnswer {
  const known = asServerError(error)
  const { status, code, message, problems } = known
  if (status === 500) logger.error({ err: error, where }, 'a request failed')
  const body = JSON.stringify(failure(status, code, message, problems))
  const headers: Record<string, string | number> = { 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(body) }
  // The rest of a body that is too large is not read, so the connection cannot be reused. Fastify closes it after any other unusable
  // body as well. The check door, which runs without Fastify, does the same.
  if (code === 'ERR_TOO_LARGE' || known instanceof UnusableBody) headers.connection = 'close'
  return { status, headers: known instanceof Refusal ? { ...headers, ...known.headers } : headers, body }
}

/** Call before routes are added. `pages` answers browsers that request an unknown address. */
export function answerErrors(app: FastifyInstance, logger: Logger, pages?: Pick<BuiltPages, 'answerNotFound'>): void {
  const paths = new KnownPaths()
  app.addHook('onRoute', (route) => paths.add(route))
  app.setErrorHandler((error, request, reply) => {
    // Fastify asks for this field before it looks for the route.
    const isUnasked = request.is404 && (error as FastifyError).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE'
    const answered = isUnasked ? noRoute(request, paths) : error
    return sendError(reply, answered, logger, `${request.method} ${request.routeOptions.url}`)
  })
  app.setNotFoundHandler((request, reply) => {
    const error = noRoute(request, paths)
    if (error.code === 'ERR_NOT_FOUND' && pages?.answerNotFound(request, reply)) return reply
    throw error
  })
}

/** Returns the error of a request that no route takes. */
function noRoute({ method, url }: FastifyRequest, paths: KnownPaths): ServerError {
  const [path] = url.split('?')
  const allow = paths.methodsOf(path).join(', ')
  const asked = `${method} ${path.slice(0, 200)}`
  if (allow !== '') return new Refusal('ERR_METHOD', `there is no ${asked}, only ${allow}`, { allow })
  return new ServerError('ERR_NOT_FOUND', `there is no ${asked}`)
}

export function sendError(reply: FastifyReply, error: unknown, logger: Logger, where: string): FastifyReply {
  const { status, headers, body } = errorAnswer(error, logger, where)
  return reply.code(status).headers(headers).send(body)
}

/** Maps any error to an error of the service. */
function asServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error
  if (error instanceof SluiceError) {
    return new ServerError(codeOfLibrary(error), error.message, { cause: error })
  }
  const { code, statusCode = 500, message } = error as FastifyError
  const known = FROM_FASTIFY[code]
  if (known !== undefined) return new ServerError(known[0], known[1], { cause: error })
  if (statusCode >= 400 && statusCode < 500) return new ServerError('ERR_INPUT', message, { cause: error })
  return new ServerError('ERR_INTERNAL', 'an unexpected error occurred: the log of the service has the reason', { cause: error })
}

/** Answers on the bare socket. Used for input that is not HTTP or arrives too late. */
export function answerBadHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = BAD_HTTP[error.code ?? ''] ?? 'ERR_INPUT'
  const { status, meaning } = SERVER_ERROR_CODES[code]
  const body = JSON.stringify(failure(status, code, code === 'ERR_INPUT' ? 'this is not HTTP' : meaning))
  const headers = [`Content-Type: ${JSON_TYPE}`, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close']
  socket.write(`HTTP/1.1 ${status} ${STATUS_TEXTS[status]}\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
  // `end` alone would keep the connection open until the peer closes its side.
  socket.destroySoon()
}

const BAD_HTTP: Readonly<Record<string, ServerErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'ERR_TOO_SLOW',
  HPE_HEADER_OVERFLOW: 'ERR_HEADERS_TOO_LARGE',
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}
