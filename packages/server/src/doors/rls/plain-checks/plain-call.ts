// A check in the usual form, read and answered without grpc-js.
//
// | state    | next                                                                                        |
// | -------- | ------------------------------------------------------------------------------------------- |
// | arriving | `decided`, when the request is complete; `handed`, when it is not one uncompressed message   |
// |          | `over`, at the caller's deadline                                                            |
// | decided  | `over`, when the answer is known, or at the caller's deadline                                |
// | handed   | grpc-js has the stream                                                                      |
// | over     | the call is answered, or its caller has gone                                                |
//
// Invariant: nothing is charged for a caller that has gone. Streams outlive several collections of garbage with everything that they refer
// to, so a call drops its request as soon as it is decided, and listeners are the same functions for all streams.

import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import type { BegunCall, CallGuard } from '../call-guard.ts'
import { PREFIX_BYTES } from '../frame.ts'
import type { LibraryStreams } from '../library-streams.ts'
import { MOST_BYTES, type RateLimitRequest, type RateLimitResponse } from '../protocol.ts'
import type { Answerer, RateLimitService } from '../rate-limit-service.ts'
import type { RlsConnection } from '../rls-connection.ts'
import { FrameBytes, isBeginning, isWhole } from './frame-bytes.ts'
import { answerMessage, answerStatus, type CallStatus } from './plain-answer.ts'

export interface PlainCallParts {
  readonly guard: CallGuard
  readonly library: LibraryStreams
  readonly rateLimit: RateLimitService
  readonly decode: (message: Buffer) => RateLimitRequest
}

const CALL = Symbol('call')

interface CallStream extends ServerHttp2Stream {
  [CALL]: PlainCall
}

const NOTHING = Buffer.alloc(0)
const NO_HEADERS: IncomingHttpHeaders = {}

/** A timeout has at most eight digits. Of a longer one, grpc-js reads the last eight. */
const MOST_TIMEOUT_NUMBER = 99_999_999

const TOO_LATE: CallStatus = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' }

export class PlainCall implements BegunCall, Answerer {
  readonly kind = 'admitted'
  readonly sinceSweep: number
  readonly #parts: PlainCallParts
  readonly #connection: RlsConnection
  readonly #stream: ServerHttp2Stream
  readonly #deadlineMs: number
  #headers: IncomingHttpHeaders
  #state: 'arriving' | 'decided' | 'handed' | 'over' = 'arriving'
  #bytes: Buffer = NOTHING
  #pieces: FrameBytes | undefined
  readonly #timer: NodeJS.Timeout | undefined

  constructor(
    parts: PlainCallParts,
    connection: RlsConnection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    timeoutMs: number,
  ) {
    this.sinceSweep = parts.guard.sweeps
    this.#parts = parts
    this.#connection = connection
    this.#stream = stream
    this.#headers = headers
    this.#deadlineMs = Date.now() + timeoutMs
    this.#timer = timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(onDeadline, timeoutMs, this)
    parts.guard.begin(this)
    connection.begin()
    ;(stream as CallStream)[CALL] = this
    stream.on('error', ignore)
    stream.on('data', onData)
    stream.on('end', onEnd)
    stream.on('close', onClose)
  }

  take(piece: Buffer): void {
    if (this.#state !== 'arriving') return
    if (this.#bytes.length === 0 && isWhole(piece)) {
      this.#bytes = piece
      return
    }
    this.#pieces ??= new FrameBytes(this.#bytes)
    this.#bytes = this.#pieces.add(piece)
    if (!isBeginning(this.#bytes, MOST_BYTES)) this.#handOver(false)
  }

  complete(): void {
    this.#parts.guard.end(this)
    if (this.#state !== 'arriving' || this.#stream.closed) return
    if (isWhole(this.#bytes)) this.#decide()
    else this.#handOver(true)
  }

  close(): void {
    this.#finish('over')
    this.#parts.guard.end(this)
    this.#connection.end()
  }

  destroyConnection(): void {
    this.#connection.destroy()
  }

  answered(response: RateLimitResponse): void {
    if (this.#state === 'over' || this.#stream.closed) return
    this.#finish('over')
    answerMessage(this.#stream, response)
  }

  failed(reason: CallStatus): void {
    if (this.#state === 'over' || this.#stream.closed) return
    this.#finish('over')
    answerStatus(this.#stream, reason)
  }

  #decide(): void {
    const { rateLimit, decode } = this.#parts
    const request = decode(this.#bytes.subarray(PREFIX_BYTES))
    this.#drop()
    this.#state = 'decided'
    rateLimit.decide(request, this.#deadlineMs, this)
  }

  #handOver(hasEnded: boolean): void {
    const [stream, headers, bytes] = [this.#stream, this.#headers, this.#bytes]
    this.#finish('handed')
    stream.off('data', onData)
    // grpc-js counts the time from now on.
    if (this.#timer !== undefined) {
      const leftMs = Math.max(0, this.#deadlineMs - Date.now())
      headers['grpc-timeout'] = `${Math.min(leftMs, MOST_TIMEOUT_NUMBER)}m`
    }
    this.#parts.library.takeRead(stream, headers, bytes, hasEnded)
  }

  #finish(state: 'handed' | 'over'): void {
    this.#state = state
    this.#drop()
    clearTimeout(this.#timer)
  }

  #drop(): void {
    this.#headers = NO_HEADERS
    this.#bytes = NOTHING
    this.#pieces = undefined
  }
}

function onDeadline(call: PlainCall): void {
  call.failed(TOO_LATE)
}

function onData(this: ServerHttp2Stream, piece: Buffer): void {
  ;(this as CallStream)[CALL].take(piece)
}

function onEnd(this: ServerHttp2Stream): void {
  ;(this as CallStream)[CALL].complete()
}

function onClose(this: ServerHttp2Stream): void {
  ;(this as CallStream)[CALL].close()
}

/** The close event follows every error. */
function ignore(): void {}
