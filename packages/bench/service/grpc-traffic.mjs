// Sends unary gRPC calls over one HTTP/2 connection, several under way, and counts the answers.
// The frames are written by hand: a client of the same library takes more time for a call than the server, and would be what is measured.

import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { METHOD, writeRequest } from './rls-messages.mjs'

/** @import { Server } from './servers.mjs' */
/** @import { Timing } from './traffic.mjs' */

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 }
const END_STREAM = 1
const END_HEADERS = 4
const ACK = 1
const HEAD_BYTES = 9

/** Number of different requests, built before the measurement starts. */
const REQUESTS = 500

/**
 * @param {Pick<Server, 'rlsPort' | 'key' | 'cpuMicros'> & { underWay: number } & Timing} traffic
 * @returns {Promise<{ decisionsPerSecond: number, cpuMicrosADecision: number, answerBytes: number }>}
 */
export async function askByGrpc({ rlsPort, key, cpuMicros, underWay, warmUpMs, timedMs }) {
  const head = headersOf(key, rlsPort)
  const requests = requestBytes()
  let answers = 0
  let sent = 0
  let stream = 1
  let answerBytes = 0
  /** @type {Error | undefined} */
  let failure
  const socket = connect({ port: rlsPort, host: '127.0.0.1', noDelay: true })
  socket.on('error', (error) => {
    failure ??= error
  })
  const send = () => {
    const data = requests[sent++ % requests.length]
    const bytes = Buffer.allocUnsafe(HEAD_BYTES * 2 + head.length + data.length)
    writeHead(bytes, 0, { length: head.length, type: FRAME.headers, flags: END_HEADERS, stream })
    head.copy(bytes, HEAD_BYTES)
    const at = HEAD_BYTES + head.length
    writeHead(bytes, at, { length: data.length, type: FRAME.data, flags: END_STREAM, stream })
    data.copy(bytes, at + HEAD_BYTES)
    stream += 2
    return bytes
  }
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    /** @type {Buffer[]} */
    const out = []
    let at = 0
    while (bytes.length - at >= HEAD_BYTES) {
      const length = bytes.readUIntBE(at, 3)
      if (bytes.length - at < HEAD_BYTES + length) break
      const [type, flags] = [bytes[at + 3], bytes[at + 4]]
      const payload = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length)
      at += HEAD_BYTES + length
      if (type === FRAME.data) answerBytes = length
      else if (type === FRAME.headers && (flags & END_STREAM) !== 0) {
        answers += 1
        out.push(send())
      } else if (type === FRAME.settings && (flags & ACK) === 0) out.push(frame(FRAME.settings, ACK, Buffer.alloc(0)))
      else if (type === FRAME.ping && (flags & ACK) === 0) out.push(frame(FRAME.ping, ACK, payload))
      else if (type === FRAME.reset || type === FRAME.goaway)
        failure ??= new Error(`frame ${type}: ${payload.toString('latin1')}`)
    }
    rest = bytes.subarray(at)
    if (out.length > 0) socket.write(Buffer.concat(out))
  })
  const window = Buffer.alloc(4)
  window.writeUInt32BE(0x7fff_0000)
  const begin = [PREFACE, frame(FRAME.settings, 0, Buffer.alloc(0)), frame(FRAME.windowUpdate, 0, window)]
  socket.write(Buffer.concat([...begin, ...Array.from({ length: underWay }, send)]))
  await pause(warmUpMs)
  const startMicros = await cpuMicros()
  const startAnswers = answers
  const startMs = performance.now()
  await pause(timedMs)
  const decided = answers - startAnswers
  const tookMs = performance.now() - startMs
  const usedMicros = (await cpuMicros()) - startMicros
  socket.destroy()
  if (failure !== undefined) throw failure
  // An error has no message, only trailers.
  if (answerBytes < 50) throw new Error(`an answer has ${answerBytes} bytes`)
  return { decisionsPerSecond: (decided / tookMs) * 1000, cpuMicrosADecision: usedMicros / decided, answerBytes }
}

/** @returns {Buffer[]} messages with the five bytes that gRPC puts before them */
function requestBytes() {
  return Array.from({ length: REQUESTS }, (_, i) => {
    const entries = [
      { key: 'plan', value: 'free' },
      { key: 'remote_address', value: `10.0.${i >> 8}.${i & 255}` },
    ]
    const message = writeRequest({ domain: 'edge', descriptors: [{ entries }] })
    const before = Buffer.alloc(5)
    before.writeUInt32BE(message.length, 1)
    return Buffer.concat([before, message])
  })
}

/**
 * The fields of a call, each as a literal that is not indexed, so that all calls have the same bytes.
 * @param {string} key
 * @param {number} port
 */
function headersOf(key, port) {
  const fields = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': METHOD,
    ':authority': `127.0.0.1:${port}`,
    te: 'trailers',
    'content-type': 'application/grpc',
    'x-api-key': key,
    'grpc-timeout': '1S',
  }
  return Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]))
}

/** @param {string} text of at most 126 bytes */
function literal(text) {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)])
}

/**
 * @param {number} type
 * @param {number} flags
 * @param {Buffer} payload of the connection, not of a stream
 */
function frame(type, flags, payload) {
  const bytes = Buffer.alloc(HEAD_BYTES + payload.length)
  writeHead(bytes, 0, { length: payload.length, type, flags, stream: 0 })
  payload.copy(bytes, HEAD_BYTES)
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {{ length: number, type: number, flags: number, stream: number }} head
 */
function writeHead(bytes, at, { length, type, flags, stream }) {
  bytes.writeUIntBE(length, at, 3)
  bytes[at + 3] = type
  bytes[at + 4] = flags
  bytes.writeUInt32BE(stream, at + 5)
}
