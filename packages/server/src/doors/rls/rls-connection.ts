// One HTTP/2 connection of the RLS door.
//
// | state   | next                                                                                                     |
// | ------- | -------------------------------------------------------------------------------------------------------- |
// | open    | `closing`, when it is too old or idle for too long, or when the service stops                            |
// | closing | takes no more calls, and ends when its open calls are answered and the client has ended its side,        |
// |         | after AGE_GRACE_MS, or with the service                                                                  |
//
// Invariant: a peer that is gone is noticed within PING_EVERY_MS and PING_WITHIN_MS.

import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { SWEEP_MS } from './call-guard.ts'

/** Streams at once on one connection. Envoy opens another connection above that. */
export const MOST_STREAMS = 1000

/** Megabytes that a connection may keep for its streams. */
const SESSION_MEGABYTES = 16

/**
 * Maximum size of the headers of a call, as at the HTTP door, and what each header counts besides its text. V8 does not count the bytes of
 * large headers as its own, so it collects them late.
 */
export const HEADER_BYTES = 16 * 1024
const BYTES_OF_HEADER = 32

/** A peer that is gone is noticed by pings. An idle connection is closed after a longer time than Envoy keeps one. */
export const PING_EVERY_MS = 60_000
export const PING_WITHIN_MS = 20_000
export const IDLE_MS = 2 * 3_600_000

/** Time that open streams have when a connection has reached its age. */
export const AGE_GRACE_MS = 10_000

/** Share of the age by which it differs at random, so that connections that were opened together are not closed together. */
const AGE_JITTER = 0.1

/** Streams that a client may have opened before it knows that the connection closes: all. */
const EVERY_STREAM = 2 ** 31 - 1

const REASON = Buffer.from('max_age')

const OPTIONS = {
  maxSessionMemory: SESSION_MEGABYTES,
  maxSendHeaderBlockLength: Number.MAX_SAFE_INTEGER,
  settings: { maxConcurrentStreams: MOST_STREAMS, maxHeaderListSize: HEADER_BYTES },
}

export class RlsConnection {
  readonly socket: Socket
  readonly session: ServerHttp2Session
  /** Times are counted in sweeps. */
  #ageLeft: number
  #graceLeft = AGE_GRACE_MS / SWEEP_MS
  #idle = 0
  #sincePing = 0
  #awaitsPong = false
  #openCalls = 0

  constructor(socket: Socket, ageMs: number) {
    this.socket = socket
    this.session = performServerHandshake(socket, OPTIONS)
    this.session.on('error', ignore)
    this.#ageLeft = (ageMs * (1 + AGE_JITTER * (2 * Math.random() - 1))) / SWEEP_MS
  }

  /** True if headers are too large that came before the client knew the maximum. Later ones are refused by the session. */
  isTooLarge(headers: IncomingHttpHeaders): boolean {
    return this.session.pendingSettingsAck && sizeOf(headers) > HEADER_BYTES
  }

  begin(): void {
    this.#openCalls += 1
    this.#idle = 0
  }

  end(): void {
    this.#openCalls -= 1
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    // A session that is destroyed keeps its socket until the client has read everything and ended its side.
    if (this.session.closed || this.session.destroyed) {
      this.#graceLeft -= 1
      if (this.#graceLeft < 0) this.destroy()
      return
    }
    this.#ageLeft -= 1
    this.#idle = this.#openCalls > 0 ? 0 : this.#idle + 1
    if (this.#ageLeft <= 0) this.#retire()
    else if (this.#idle * SWEEP_MS >= IDLE_MS) this.close()
    else this.#keepAlive()
  }

  /** Asks the client to reconnect. Open calls are answered. */
  close(): void {
    this.session.close()
  }

  destroy(): void {
    // The session would wait until the client has read everything.
    this.socket.destroy()
  }

  /** The first notice lets calls pass that the client has sent already. */
  #retire(): void {
    this.session.goaway(constants.NGHTTP2_NO_ERROR, EVERY_STREAM, REASON)
    this.close()
  }

  #keepAlive(): void {
    this.#sincePing += 1
    if (this.#awaitsPong) {
      if (this.#sincePing * SWEEP_MS >= PING_WITHIN_MS) this.destroy()
    } else if (this.#sincePing * SWEEP_MS >= PING_EVERY_MS) {
      this.#sincePing = 0
      this.#awaitsPong = true
      if (!this.session.ping(this.#onPong)) this.destroy()
    }
  }

  readonly #onPong = (error: Error | null): void => {
    if (error !== null) this.destroy()
    this.#sincePing = 0
    this.#awaitsPong = false
  }
}

function sizeOf(headers: IncomingHttpHeaders): number {
  let bytes = 0
  for (const name in headers) bytes += name.length + String(headers[name]).length + BYTES_OF_HEADER
  return bytes
}

/** The close event follows every error. */
function ignore(): void {}
