// The node:http server below the API. It bounds time and size, and counts open requests.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { Socket } from 'node:net'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import { answerBadHttp } from './plumbing/error-answers.ts'

/** This also bounds the number of headers. A bound by count would make Node drop headers, which changes the meaning of a request. */
const HEADER_BYTES = 16 * 1024
const ANY_COUNT = 0

/** Time limits for the TLS handshake, for the headers, and for the whole request. Node checks the last two every second. */
const HANDSHAKE_MS = 10_000
const HEADERS_MS = 5000
const REQUEST_MS = 10_000
export const CHECK_EVERY_MS = 1000

/** Longer than the usual idle time of a load balancer, so that the load balancer closes connections first. */
export const KEEP_ALIVE_MS = 65_000
const MOST_CONNECTIONS = 10_000

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Open requests: received and not answered yet. */
export class OpenRequests {
  #count = 0
  #onAllDone: (() => void) | undefined

  begin(): void {
    this.#count += 1
  }

  readonly end = (): void => {
    this.#count -= 1
    if (this.#count === 0) this.#onAllDone?.()
  }

  add(response: ServerResponse): void {
    this.begin()
    response.on('close', this.end)
  }

  /** Resolves as soon as no request is open. */
  allDone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onAllDone = resolve
    })
  }
}

export function httpServer(listener: Listener, tls: TlsOptions | undefined): Server {
  const limits = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES,
  }
  const server =
    tls === undefined
      ? createServer(limits, listener)
      : createTlsServer({ ...tls, ...limits, handshakeTimeout: HANDSHAKE_MS }, listener)
  server.maxHeadersCount = ANY_COUNT
  server.maxConnections = MOST_CONNECTIONS
  answerAfterEnd(server)
  const awaited = new WeakSet<ServerResponse>()
  server.on('clientError', (error, socket) => refuseBadHttp(error, socket as Socket, awaited))
  return server
}

/**
 * By default Node ends our side together with the client's, before the answers that are due: node:http without a field that Node does
 * not document, and TLS without `allowHalfOpen`. That one is set after the handshake, since nobody would end a connection whose client
 * has gone in the middle of it.
 */
function answerAfterEnd(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true })
  if (!(server instanceof TlsServer)) return
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.allowHalfOpen = true
  })
}

/** `_httpMessage` is Node's field for the response that is being written. Node's own handler of bad requests reads it as well. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

/**
 * Complete requests before the bad one are answered first, since they may have been counted. Node reports the error again for each later
 * packet, so `awaited` ensures one listener for each response. A response that never ends, such as a stream, is not awaited.
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
    // The earlier response may have closed the connection.
    if (!socket.writableEnded) refuseBadHttp(error, socket, awaited)
  })
}
