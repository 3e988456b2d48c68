// A framework as an application would set it up: limiters in a row, then a handler for everything, and its own error handling.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import type { AnyOptions } from '../../../src/middleware/gate/options.ts'

// biome-ignore lint/suspicious/noExplicitAny: the same options go to frameworks with different types of requests.
export type Options = AnyOptions<any>

/** A request of any framework. */
export interface Asked {
  /** The framework's own object, as callbacks get it. */
  readonly own: object
  readonly method: string
  readonly path: string
  header(name: string): string | undefined
}

export interface Answered {
  readonly status: number
  readonly body: string | ReadableStream<Uint8Array>
}

export interface Application {
  /** Limiters in the order in which a request comes to them. The same object twice is one middleware, mounted twice. */
  readonly limiters: readonly Options[]
  /** Answers a request, or throws. */
  handle(asked: Asked): Promise<Answered>
  /** Called by the framework's own error handling, which then answers 500. */
  onError(error: unknown): void
  readonly http2: boolean
}

export interface Running {
  readonly port: number
  stop(): Promise<void>
}

export interface Framework {
  readonly name: string
  /** Reads what callbacks are given. */
  // biome-ignore lint/suspicious/noExplicitAny: each has its own.
  asked(request: any): Asked
  readonly speaksHttp2: boolean
  /** True if limiters write into a response that is there: then the inner one writes first. */
  readonly answersWithResponse: boolean
  start(application: Application): Promise<Running>
}

export const askedNode = (request: IncomingMessage, own: object = request): Asked => ({
  own,
  method: request.method ?? '',
  path: request.url ?? '',
  header: (name) => request.headers[name] as string | undefined,
})

export const askedWeb = (request: Request, own: object = request): Asked => ({
  own,
  method: request.method,
  path: new URL(request.url).pathname,
  header: (name) => request.headers.get(name) ?? undefined,
})

/** The body of a response of node:http. A stream is destroyed if the client disconnects. */
export function nodeBody({ body }: Answered): string | Readable {
  return typeof body === 'string' ? body : Readable.fromWeb(body as never)
}

/** Sends a response of node:http. */
export function sendNode(response: ServerResponse, answered: Answered): void {
  const body = nodeBody(answered)
  if (typeof body === 'string') response.end(body)
  else pipeline(body, response, () => {})
}

/** The body of a Response. Some statuses allow none, not even an empty one. */
export function webBody({ body, status }: Answered): string | ReadableStream<Uint8Array> | null {
  return status === 204 || status === 304 ? null : body
}

export async function listen(server: Server): Promise<Running> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async (): Promise<void> => {
    server.close()
    ;(server as { closeAllConnections?(): void }).closeAllConnections?.()
  }
  return { port: (server.address() as AddressInfo).port, stop }
}

export function serverOf(listener: (request: IncomingMessage, response: ServerResponse) => void, http2: boolean): Server {
  return http2 ? createHttp2Server(listener as never) : createServer(listener)
}

/** One middleware for each set of options: where the same comes twice, it is the same middleware. */
export function madeOnce<M>(make: (options: Options) => M): (options: Options) => M {
  const made = new Map<Options, M>()
  return (options) => {
    const middleware = made.get(options) ?? make(options)
    made.set(options, middleware)
    return middleware
  }
}
