// Hands streams to grpc-js, which answers everything but plain checks.
// Invariant: grpc-js answers a stream as if its connection were one of its own.

import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { type ConnectionInjector, type Server, ServerCredentials } from '@grpc/grpc-js'

/**
 * The public interface of grpc-js takes connections, and no streams. A connection is an event of an HTTP/2 server, which grpc-js keeps in
 * a private field, and so is a stream. The version of grpc-js is fixed in package.json.
 */
interface Internals {
  readonly http2Servers: ReadonlyMap<Http2Server, unknown>
}

export class LibraryStreams {
  readonly #connections: ConnectionInjector
  readonly #http2: Http2Server

  constructor(server: Server) {
    // The listener speaks TLS.
    this.#connections = server.createConnectionInjector(ServerCredentials.createInsecure())
    const [http2] = (server as unknown as Internals).http2Servers.keys()
    this.#http2 = http2
  }

  take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.#http2.emit('stream', stream, headers)
  }

  /** Like `take`, for a stream of which bytes were read already. */
  takeRead(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, bytes: Buffer, hasEnded: boolean): void {
    this.take(stream, headers)
    if (bytes.length > 0) stream.emit('data', bytes)
    // A stream that has ended takes no bytes back, and does not end again.
    if (hasEnded) stream.emit('end')
  }

  /** Takes a connection that is not HTTP/2. */
  refuse(socket: Socket): void {
    this.#connections.injectConnection(socket)
  }
}
