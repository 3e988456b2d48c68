// Answers calls as grpc-js does.
// Invariant: headers, message and trailers are those of grpc-js. A test compares both.

import { constants, type ServerHttp2Stream } from 'node:http2'
import { type StatusObject, status } from '@grpc/grpc-js'
import type { RateLimitResponse } from '../protocol.ts'
import { writeFrame } from '../response-writer.ts'

export type CallStatus = Pick<StatusObject, 'code' | 'details'>

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' }

const MESSAGE_HEADERS = { ...HEADERS, 'grpc-accept-encoding': 'identity,deflate,gzip', 'grpc-encoding': 'identity' }

const OK = { 'grpc-status': status.OK, 'grpc-message': 'OK' }

const WITH_TRAILERS = { waitForTrailers: true }

const WITHOUT_MESSAGE = { endStream: true }

export function answerMessage(stream: ServerHttp2Stream, response: RateLimitResponse): void {
  const frame = writeFrame(response)
  stream.respond(MESSAGE_HEADERS, WITH_TRAILERS)
  stream.on('wantTrailers', sendOk)
  stream.end(frame)
}

/**
 * A stream whose request is not complete is reset after the answer. Otherwise its client could keep it for ever. Node sends the answer at
 * the end of the turn, and a reset before that would replace it on some versions of Node.
 */
export function answerStatus(stream: ServerHttp2Stream, { code, details }: CallStatus): void {
  stream.respond({ 'grpc-status': code, 'grpc-message': encodeURI(details), ...HEADERS }, WITHOUT_MESSAGE)
  if (!stream.readableEnded) setImmediate(reset, stream)
}

function reset(stream: ServerHttp2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR)
}

/** One function for all streams. */
function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(OK)
}
