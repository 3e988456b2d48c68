// Admits calls by their headers, and decides who answers them: the door itself answers plain checks, and grpc-js everything else.
// Invariant: nothing is kept of a message whose caller needs a key and has none.

import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import type { Callers } from './callers.ts'
import { grpcErrorOf } from './grpc-errors.ts'
import { type LastPart, LibraryCall } from './library-call.ts'
import { plainTimeoutMs } from './plain-checks/check-head.ts'
import { answerStatus, type CallStatus } from './plain-checks/plain-answer.ts'
import { PlainCall, type PlainCallParts } from './plain-checks/plain-call.ts'
import type { Protocol } from './protocol.ts'
import type { RlsConnection } from './rls-connection.ts'

export interface CallRouterOptions extends Omit<PlainCallParts, 'decode'> {
  readonly protocol: Protocol
  readonly callers: Callers
  readonly logger: Logger
}

export class CallRouter {
  readonly #parts: PlainCallParts
  readonly #callers: Callers
  readonly #logger: Logger
  /** Path of the method that needs a caller with a key. */
  readonly #checkPath: string
  /** Last parts of calls, by the path of their method, where it is not the answer. */
  readonly #lastParts: ReadonlyMap<string | undefined, LastPart>

  constructor({ protocol, callers, logger, ...parts }: CallRouterOptions) {
    const { path, requestDeserialize: decode } = protocol.rateLimit.ShouldRateLimit
    this.#parts = { ...parts, decode }
    this.#callers = callers
    this.#logger = logger
    this.#checkPath = path
    this.#lastParts = new Map([
      // The store may take its time. The caller has a key, or needs none.
      [path, 'request'],
      // The number of watchers is bounded, see health.ts.
      [protocol.health.Watch.path, 'request'],
      // The number of callers is bounded, see reflection.ts. They may be silent between two messages.
      [protocol.reflection.ServerReflectionInfo.path, 'message'],
    ])
  }

  readonly route = (connection: RlsConnection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    // A refusal would let the client send the next ones.
    if (connection.isTooLarge(headers)) return connection.destroy()
    const isCheck = headers[':path'] === this.#checkPath && isGrpc(headers)
    const refusal = isCheck ? this.#refusalOf(connection, headers) : undefined
    if (refusal !== undefined) {
      refuse(stream, refusal)
      // Its address has failed too often. Refusals would keep the door from other callers.
      if (refusal.code === status.RESOURCE_EXHAUSTED) connection.close()
      return
    }
    const timeoutMs = isCheck ? plainTimeoutMs(headers) : undefined
    if (timeoutMs !== undefined) {
      new PlainCall(this.#parts, connection, stream, headers, timeoutMs)
      return
    }
    const { library, guard } = this.#parts
    library.take(stream, headers)
    const lastPart = this.#lastParts.get(headers[':path']) ?? 'answer'
    LibraryCall.watch(stream, { kind: isCheck ? 'admitted' : 'open', guard, connection, lastPart })
  }

  /** Returns undefined if the caller is admitted. */
  #refusalOf({ socket }: RlsConnection, headers: IncomingHttpHeaders): CallStatus | undefined {
    try {
      this.#callers.admit(headers, socket)
      return undefined
    } catch (error) {
      return grpcErrorOf(error, this.#logger)
    }
  }
}

/** grpc-js refuses other calls, before it asks for anything else. */
function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') === true
}

function refuse(stream: ServerHttp2Stream, reason: CallStatus): void {
  stream.on('error', ignore)
  if (!stream.closed) answerStatus(stream, reason)
}

/** The close event follows every error. */
function ignore(): void {}
