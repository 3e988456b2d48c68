// The node:http server under the API: strict about time and size, and it knows what is under way.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { Socket } from 'node:net'
import { answerBadHttp } from './error-answers.ts'

/** Bounds how many headers there can be as well. Node would leave out those beyond a count, and the request would mean something else. */
const HEADER_BYTES = 16 * 1024
const ANY_COUNT = 0

/** Whole headers, then the whole request, have to be there within these times; looked at every second. */
const HEADERS_MS = 5000
const REQUEST_MS = 10_000
const LOOK_EVERY_MS = 1000

/** Longer than the usual load balancer keeps a connection, so that it is never the service that closes one in use. */
const KEEP_ALIVE_MS = 65_000
const MOST_CONNECTIONS = 10_000

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Requests that have come and are not answered yet. */
export class UnderWay {
  #count = 0
  #onNone: (() => void) | undefined
  readonly #end = (): void => {
    this.#count -= 1
    if (this.#count === 0) this.#onNone?.()
  }

  begin(response: ServerResponse): void {
    this.#count += 1
    response.on('close', this.#end)
  }

  /** Resolves as soon as there are none. */
  none(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onNone = resolve
    })
  }
}

export function httpServer(listener: Listener, tls: TlsOptions | undefined): Server {
  const limits = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: LOOK_EVERY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES,
  }
  const server = tls === undefined ? createServer(limits, listener) : createTlsServer({ ...tls, ...limits }, listener)
  server.maxHeadersCount = ANY_COUNT
  server.maxConnections = MOST_CONNECTIONS
  const awaited = new WeakSet<ServerResponse>()
  server.on('clientError', (error, socket) => refuseBadHttp(error, socket as Socket, awaited))
  return server
}

/** Node's field for the answer that has its turn on a connection. Node's own handler of bad requests reads it as well. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

/**
 * Requests that came whole before the bad one are answered first, since they may have been counted. Node reports each later packet of the
 * connection again: `awaited` keeps it at one listener for each answer. An answer that never ends, as that of a stream, is not awaited.
 */
function refuseBadHttp(error: NodeJS.ErrnoException, socket: HttpSocket, awaited: WeakSet<ServerResponse>): void {
  const earlier = socket._httpMessage
  const isEarlierDue = earlier?.req.complete === true && (earlier.writableEnded || !earlier.headersSent)
  if (!isEarlierDue || error.code === 'ECONNRESET') {
    answerBadHttp(error, socket)
    return
  }
  if (awaited.has(earlier)) return
  awaited.add(earlier)
  earlier.once('close', () => {
    // The earlier answer may have ended the connection.
    if (!socket.writableEnded) refuseBadHttp(error, socket, awaited)
  })
}
