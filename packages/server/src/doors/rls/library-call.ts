// A call that grpc-js answers, from the headers on. Here it is watched until it is complete.

import type { ServerHttp2Stream } from 'node:http2'
import type { BegunCall, CallGuard } from './call-guard.ts'
import { frameLength, PREFIX_BYTES } from './frame.ts'
import type { RlsConnection } from './rls-connection.ts'

/** The part of a call with which it is complete: its first message, all of its request, or its answer. */
export type LastPart = 'message' | 'request' | 'answer'

export interface LibraryCallOptions {
  readonly kind: BegunCall['kind']
  readonly guard: CallGuard
  readonly connection: RlsConnection
  readonly lastPart: LastPart
}

export class LibraryCall implements BegunCall {
  readonly kind: BegunCall['kind']
  readonly sinceSweep: number
  readonly #guard: CallGuard
  readonly #connection: RlsConnection
  /** The first bytes of the first message, and the number of bytes that arrived. */
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #received = 0

  constructor({ kind, guard, connection }: LibraryCallOptions) {
    this.kind = kind
    this.sinceSweep = guard.sweeps
    this.#guard = guard
    this.#connection = connection
  }

  /** Begins to watch a stream that grpc-js has taken and paused. So a listener does not make it flow. */
  static watch(stream: ServerHttp2Stream, options: LibraryCallOptions): void {
    // grpc-js has refused it.
    if (stream.headersSent) return
    const call = new LibraryCall(options)
    options.connection.begin()
    options.guard.begin(call)
    if (options.lastPart === 'message') stream.on('data', call.#onData)
    if (options.lastPart !== 'answer') stream.on('end', call.#onComplete)
    stream.on('close', call.#onClose)
  }

  destroyConnection(): void {
    this.#connection.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#received < PREFIX_BYTES) bytes.copy(this.#prefix, this.#received)
    this.#received += bytes.length
    if (this.#received >= PREFIX_BYTES && this.#received >= frameLength(this.#prefix)) this.#onComplete()
  }

  readonly #onComplete = (): void => this.#guard.end(this)

  readonly #onClose = (): void => {
    this.#guard.end(this)
    this.#connection.end()
  }
}
