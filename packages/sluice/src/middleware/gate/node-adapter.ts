// The adapter for node:http and frameworks on it: Express, Koa, Nest and plain servers, over HTTP/1 and HTTP/2.

import type { Adapter } from './adapter.ts'
import type { Gate } from './gate.ts'
import { andThen, tryThen } from './maybe-promise.ts'
import { nodeHeaders } from './raw-headers.ts'
import type { GateContext } from './request-context.ts'

/** The part of an `IncomingMessage` that is used here. */
export interface NodeRequest {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values in turn, as received. */
  readonly rawHeaders?: readonly string[]
}

/** The part of a `ServerResponse` that is used here. */
export interface NodeResponse {
  statusCode: number
  readonly headersSent: boolean
  readonly writableEnded: boolean
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
  once(event: 'close', listener: () => void): unknown
}

/** Writes the fields of a response. */
export const nodeFields: Pick<Adapter<object, NodeResponse>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: true,
  setField: (response, name, value) => {
    response.setHeader(name, value)
  },
  addField: (response, name, value) => {
    const there = response.getHeader(name)
    response.setHeader(name, there === undefined ? value : `${there}, ${value}`)
  },
}

/**
 * Returns the holder of a request's mark: its list of raw headers. Each request has its own plain list. A new property on the
 * request itself takes 4 µs if its prototype was changed, and Express changes it for each request.
 */
export function nodeHolder(request: NodeRequest): object {
  return request.rawHeaders ?? request
}

export const nodeAdapter: Adapter<NodeRequest, NodeResponse> = {
  peer: ({ socket }) => socket.remoteAddress,
  headers: nodeHeaders,
  holder: nodeHolder,
  ...nodeFields,
}

/** Makes middleware of the form `(request, response, next)`. It calls `next` with the error if there is no decision or no answer. */
export function nodeMiddleware<R extends NodeRequest>(
  gate: Gate<R, NodeResponse>,
): (request: R, response: NodeResponse, next: (error?: unknown) => void) => void {
  return (request, response, next) =>
    void tryThen(
      () => andThen(gate.enter(request), (context) => answer(gate, context, response)),
      (isAnswered) => {
        if (!isAnswered) next()
      },
      (error) => next(asError(error)),
    )
}

/** Writes the fields, and the denial if there is one. Returns true if the request goes no further. */
function answer<R extends object>(gate: Gate<R, NodeResponse>, context: GateContext<R>, response: NodeResponse): boolean {
  const { denial } = context
  // Another handler, such as a timeout, may have answered before the decision came.
  if (!response.headersSent) gate.writeFields(context, response)
  followNode(gate, context, response)
  if (denial === undefined) return false
  if (!response.headersSent) {
    response.statusCode = denial.status
    response.end(denial.body)
  }
  return true
}

/** Returns an error for anything that was thrown. Frameworks take `undefined`, and some words, as a sign to continue. */
export function asError(thrown: unknown): Error {
  if (typeof thrown === 'object' && thrown !== null) return thrown as Error
  return new Error('a callback of the limiter failed, and not with an error', { cause: thrown })
}

/**
 * Settles the held units of a request, or refunds its charge by the status of the response, once it has been sent. If the client has
 * disconnected, the charge stays.
 */
export function followNode<R extends object>(gate: Gate<R, unknown>, context: GateContext<R>, response: NodeResponse): void {
  context.held?.followNode(response)
  if (!gate.mayRefund(context)) return
  response.once('close', () => {
    if (response.writableEnded) gate.refundIfFree(context, response.statusCode)
  })
}
