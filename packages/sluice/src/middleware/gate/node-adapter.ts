// The adapter for node:http and frameworks on it: Express, Koa, Nest and plain servers, over HTTP/1 and HTTP/2.

import type { Adapter } from './adapter.ts'
import type { Gate } from './gate.ts'
import { tryThen } from './maybe-promise.ts'
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

/** Makes middleware of the form `(request, response, next)`. It calls `next` with the error if there is no decision. */
export function nodeMiddleware<R extends NodeRequest>(
  gate: Gate<R, NodeResponse>,
): (request: R, response: NodeResponse, next: (error?: unknown) => void) => void {
  return (request, response, next) =>
    void tryThen(
      () => gate.enter(request),
      (context) => {
        gate.writeFields(context, response)
        refundAfterNode(gate, context, response)
        const { denial } = context
        if (denial === undefined) return next()
        response.statusCode = denial.status
        response.end(denial.body)
      },
      next,
    )
}

/** Refunds the charge by the status of the response, once it has been sent. If the client has disconnected, the charge stays. */
export function refundAfterNode<R extends object>(gate: Gate<R, unknown>, context: GateContext<R>, response: NodeResponse): void {
  if (!gate.mayRefund(context)) return
  response.once('close', () => {
    if (response.writableEnded) gate.refundIfFree(context, response.statusCode)
  })
}
