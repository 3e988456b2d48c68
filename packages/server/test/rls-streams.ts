// Calls of the RLS door, as streams of HTTP/2 whose bytes a test chooses.

import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { onTestFinished } from 'vitest'
import { SERVICES } from '../src/doors/rls/protocol.ts'

export const PATHS = {
  ask: `/${SERVICES.rateLimit}/ShouldRateLimit`,
  check: `/${SERVICES.health}/Check`,
  watch: `/${SERVICES.health}/Watch`,
  reflect: `/${SERVICES.reflection}/ServerReflectionInfo`,
}

/** Opens a connection to a door. It reads no answer if the window is 0. */
export function openConnection(address: string, initialWindowSize = 65_535): ClientHttp2Session {
  const session = connectHttp2(address.replace('grpc:', 'http:'), { settings: { initialWindowSize } })
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return session
}

/** Begins a call. */
export function begin(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  stream.on('error', () => {})
  stream.resume()
  return stream
}

/** Resolves to the gRPC status of a call, or `closed` if its connection ends without one. */
export function statusOf(stream: ClientHttp2Stream): Promise<number | 'closed'> {
  return new Promise((resolve) => {
    const read = (headers: IncomingHttpHeaders): void => {
      if (headers['grpc-status'] !== undefined) resolve(Number(headers['grpc-status']))
    }
    stream.on('response', read)
    stream.on('trailers', read)
    stream.on('close', () => resolve('closed'))
  })
}

/** Returns the frame of a message. `length` is that of the message which it announces. */
export function framed(message: Buffer, length = message.length): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

/** An answer as it was sent. */
export interface SentAnswer {
  readonly headers: Readonly<Record<string, unknown>>
  readonly message: string
  readonly trailers: Readonly<Record<string, unknown>>
  readonly resetCode: number
}

/** Resolves to everything that a stream gets, when it has closed. The date is only known to be there. */
export function answerTo(stream: ClientHttp2Stream): Promise<SentAnswer> {
  return new Promise((resolve) => {
    let [headers, trailers]: [object, object] = [{}, {}]
    const pieces: Buffer[] = []
    stream.on('response', (received) => {
      headers = { ...received, date: typeof received.date }
    })
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('trailers', (received) => {
      trailers = { ...received }
    })
    stream.on('close', () => {
      const message = Buffer.concat(pieces).toString('hex')
      resolve({ headers: { ...headers }, message, trailers: { ...trailers }, resetCode: stream.rstCode })
    })
  })
}
