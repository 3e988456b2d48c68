// Checks that the RLS door answers itself, and the same checks answered by grpc-js: the answers are the same, byte by byte.

import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { status } from '@grpc/grpc-js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { LibraryStreams } from '../src/doors/rls/library-streams.ts'
import { loadProtocol, MOST_BYTES } from '../src/doors/rls/protocol.ts'
import { entriesOf, rlsAddress, type WrittenRequest } from './rls-client.ts'
import { answerTo, begin, framed, openConnection, PATHS, type SentAnswer } from './rls-streams.ts'
import { advance, startService, type TestService } from './running-service.ts'

const { requestSerialize } = loadProtocol().rateLimit.ShouldRateLimit

/** Headers of a check that only grpc-js answers. */
const ODD = { 'content-type': 'application/grpc; form=odd' }

interface Door {
  readonly service: TestService
  readonly session: ClientHttp2Session
  /** Begins a check. */
  readonly check: (headers?: Readonly<Record<string, string>>) => ClientHttp2Stream
  /** Number of streams that grpc-js got since the last call. */
  readonly handed: () => number
}

async function open(): Promise<Door> {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const rules = { algorithm: 'fixed-window', limit: 3, window: '1m', anchor: 'clock', name: 'per-address' }
  await service.call('PUT', '/v1/policies/a', { route: 'edge|remote_address', rules })
  const session = openConnection(rlsAddress(service))
  const taken = vi.spyOn(LibraryStreams.prototype, 'take')
  const handed = (): number => {
    const { length } = taken.mock.calls
    taken.mockClear()
    return length
  }
  return { service, session, check: (headers) => begin(session, PATHS.ask, { 'x-api-key': service.key, ...headers }), handed }
}

function requestFor(address: string, more: object = {}): Buffer {
  const descriptors = [{ entries: entriesOf({ remote_address: address }), ...more }]
  return requestSerialize({ domain: 'edge', descriptors } as WrittenRequest as never)
}

/** Sends pieces, each as a frame of its own, and resolves to the answer. */
async function send(stream: ClientHttp2Stream, pieces: readonly Buffer[]): Promise<SentAnswer> {
  const answer = answerTo(stream)
  for (const piece of pieces) await new Promise((resolve) => stream.write(piece, resolve))
  stream.end()
  return answer
}

test('both ways give the same headers, message and trailers, for allowed, denied and refused checks', async () => {
  const { check, handed } = await open()
  const requests = (address: string): readonly Buffer[] => [
    ...Array.from({ length: 4 }, () => requestFor(address)),
    requestFor(address, { hits_addend: { value: 0 } }),
    requestFor(address, { limit: { requests_per_unit: 5, unit: 2 } }),
    requestFor(address, { limit: { requests_per_unit: 1, unit: 99 } }),
    requestSerialize({ domain: 'other', descriptors: [{ entries: entriesOf({ é: 'x' }) }] } as never),
    Buffer.from('ffffffff', 'hex'),
    Buffer.alloc(0),
  ]
  const answers = async (address: string, headers: Readonly<Record<string, string>>): Promise<readonly SentAnswer[]> => {
    const sent: SentAnswer[] = []
    for (const request of requests(address)) sent.push(await send(check(headers), [framed(request)]))
    return sent
  }
  const plain = await answers('10.0.0.1', {})
  expect(handed()).toBe(0)
  expect(plain[0]).toMatchObject({
    headers: { ':status': 200, 'content-type': 'application/grpc+proto', 'grpc-encoding': 'identity', date: 'string' },
    trailers: { 'grpc-status': '0', 'grpc-message': 'OK' },
    resetCode: 0,
  })
  expect(plain.map(({ headers, trailers }) => headers['grpc-status'] ?? trailers['grpc-status'])).toEqual(
    [0, 0, 0, 0, 0, 0, 3, 0, 3, 3].map(String),
  )
  expect(await answers('10.0.0.2', ODD)).toEqual(plain)
  expect(handed()).toBe(plain.length)
  const forms = { 'grpc-encoding': 'identity', 'content-type': 'application/grpc+proto', 'grpc-timeout': '20S' }
  expect(await answers('10.0.0.3', forms)).toEqual(plain)
  expect(handed()).toBe(0)
})

test('a compressed request is answered as an uncompressed one', async () => {
  const { check, handed } = await open()
  const plain = await send(check(), [framed(requestFor('10.0.0.1'))])
  const compressed = framed(gzipSync(requestFor('10.0.0.2')))
  compressed[0] = 1
  expect(await send(check({ 'grpc-encoding': 'gzip' }), [compressed])).toEqual(plain)
  expect(handed()).toBe(1)
})

test('both ways refuse the same callers in the same way', async () => {
  const { check, handed, session } = await open()
  const frame = framed(requestFor('10.0.0.1'))
  for (const headers of [{ 'x-api-key': 'wrong' }, { 'x-api-key': '' }]) {
    const plain = await send(check(headers), [frame])
    expect(plain.headers['grpc-status']).toBe(String(status.UNAUTHENTICATED))
    expect(await send(check({ ...ODD, ...headers }), [frame])).toEqual(plain)
  }
  expect(handed()).toBe(0)
  const html = await send(check({ 'content-type': 'text/html', 'x-api-key': '' }), [frame])
  expect(html.headers).toMatchObject({ ':status': 415 })
  const unknown = await send(begin(session, '/no.Such/Method'), [frame])
  expect(unknown.headers['grpc-status']).toBe(String(status.UNIMPLEMENTED))
})

test.each(['20', '1 S', '123456789m', '1x', ''])('a grpc-timeout of %j is left to grpc-js', async (timeout) => {
  const { check, handed } = await open()
  const [first, second] = [
    await send(check({ 'grpc-timeout': timeout }), [framed(requestFor('10.0.0.1'))]),
    await send(check({ 'grpc-timeout': timeout, ...ODD }), [framed(requestFor('10.0.0.2'))]),
  ]
  expect(first).toEqual(second)
  expect(handed()).toBe(2)
})

test.each(['597H', '99999H', '99999999H'])('a grpc-timeout of %s is longer than any check', async (timeout) => {
  const { check } = await open()
  const { trailers } = await send(check({ 'grpc-timeout': timeout }), [framed(requestFor('10.0.0.1'))])
  expect(trailers['grpc-status']).toBe('0')
})

test('a request that is not complete at its deadline is answered then, both ways, and charges nothing', async () => {
  const door = await open()
  const frame = framed(requestFor('10.0.0.1'))
  for (const length of [0, 3, frame.length - 1, frame.length]) {
    const late = [{}, ODD].map((headers) => {
      const stream = door.check({ 'grpc-timeout': '50m', ...headers })
      if (length > 0) stream.write(frame.subarray(0, length))
      return new Promise((resolve) => stream.on('response', ({ date, ...received }) => resolve({ ...received })))
    })
    const [plain, odd] = await Promise.all(late)
    expect(plain).toMatchObject({ 'grpc-status': String(status.DEADLINE_EXCEEDED), 'grpc-message': 'Deadline%20exceeded' })
    expect(odd).toEqual(plain)
  }
  expect(await remaining(door, '10.0.0.1')).toBe(3)
})

test('a request that is handed to grpc-js keeps its deadline', async () => {
  const { check, handed, session } = await open()
  const stream = check({ 'grpc-timeout': '1M' })
  const answer = new Promise((resolve) => stream.on('response', (received) => resolve(received['grpc-status'])))
  await new Promise((resolve) => stream.write(framed(Buffer.alloc(0)), resolve))
  // The answer to a ping comes when the door has read everything before it.
  await new Promise((resolve) => session.ping(resolve))
  advance(59_900)
  // A byte after the message.
  stream.write(Buffer.alloc(1))
  expect(await answer).toBe(String(status.DEADLINE_EXCEEDED))
  expect(handed()).toBe(1)
})

test('a request with a timeout of more than a day is handed to grpc-js with a long one', async () => {
  const { check, handed } = await open()
  // A byte after the message.
  const pieces = [framed(requestFor('10.0.0.1')), Buffer.alloc(1)]
  const { headers, trailers } = await send(check({ 'grpc-timeout': '100000S' }), pieces)
  expect(headers['grpc-status'] ?? trailers['grpc-status']).toBe(String(status.OK))
  expect(handed()).toBe(1)
})

test('a refused request is over, even if its client never ends it', async () => {
  const { check, service } = await open()
  const frame = framed(requestFor('10.0.0.1'))
  const streams = Array.from({ length: 5 }, () => check({ 'x-api-key': 'wrong' }))
  const answers = streams.map(answerTo)
  for (const stream of streams) stream.write(frame.subarray(0, -1))
  for (const { headers, resetCode } of await Promise.all(answers)) {
    expect({ status: headers['grpc-status'], resetCode }).toEqual({ status: String(status.UNAUTHENTICATED), resetCode: 0 })
  }
  const startMs = performance.now()
  await service.close()
  // Open calls may take ten seconds.
  expect(performance.now() - startMs).toBeLessThan(8000)
})

test('a request that is cut at any byte is answered as a whole one, and each byte may be a frame', async () => {
  const { check, handed } = await open()
  const frame = framed(requestFor('10.0.0.1', { hits_addend: { value: 0 } }))
  const whole = await send(check(), [frame])
  for (let at = 1; at < frame.length; at++) {
    expect(await send(check(), [frame.subarray(0, at), frame.subarray(at)])).toEqual(whole)
  }
  expect(
    await send(
      check(),
      Array.from(frame, (_, i) => frame.subarray(i, i + 1)),
    ),
  ).toEqual(whole)
  expect(handed()).toBe(0)
})

const WRONG: readonly (readonly [string, (frame: Buffer) => readonly Buffer[]])[] = [
  ['no message', () => []],
  ['two messages', (frame) => [frame, frame]],
  ['two messages in one piece', (frame) => [Buffer.concat([frame, frame])]],
  ['a byte too much', (frame) => [frame, Buffer.alloc(1)]],
  ['a byte too few', (frame) => [frame.subarray(0, -1)]],
  ['a part of a prefix', (frame) => [frame.subarray(0, 3)]],
  ['a prefix alone', (frame) => [frame.subarray(0, 5)]],
  ['a message above the maximum', () => [framed(Buffer.alloc(10), MOST_BYTES + 1)]],
  ['a message above the maximum that is sent', () => [framed(Buffer.alloc(MOST_BYTES + 1))]],
  ['the flag of compression without an encoding', (frame) => [Buffer.concat([Buffer.from([1]), frame.subarray(1)])]],
  ['an unknown flag', (frame) => [Buffer.concat([Buffer.from([2]), frame.subarray(1)])]],
]

test.each(WRONG)('%s is answered alike both ways', async (_, piecesOf) => {
  const { check, handed } = await open()
  const frame = framed(requestFor('10.0.0.1', { hits_addend: { value: 0 } }))
  const plain = await send(check(), piecesOf(frame))
  expect(handed()).toBe(1)
  expect(plain.headers[':status']).toBe(200)
  expect(await send(check(ODD), piecesOf(frame))).toEqual(plain)
})

const RESETS = [
  ['CANCEL', 8],
  ['NO_ERROR', 0],
  ['INTERNAL_ERROR', 2],
] as const

/** Resolves to the units that are left for an address. */
async function remaining({ check }: Door, address: string): Promise<number> {
  const look = await send(check(), [framed(requestFor(address, { hits_addend: { value: 0 } }))])
  const { responseDeserialize } = loadProtocol().rateLimit.ShouldRateLimit
  return responseDeserialize(Buffer.from(look.message, 'hex').subarray(5)).statuses[0].limit_remaining
}

test.each(RESETS)('a request that is reset by %s in the middle charges nothing', async (_, code) => {
  const door = await open()
  const frame = framed(requestFor('10.0.0.1'))
  for (const headers of [{}, ODD]) {
    for (const length of [0, 3, 20, frame.length - 1]) {
      const stream = door.check(headers)
      if (length > 0) await new Promise((resolve) => stream.write(frame.subarray(0, length), resolve))
      const closed = new Promise((resolve) => stream.on('close', resolve))
      stream.close(code)
      await closed
    }
  }
  expect(await remaining(door, '10.0.0.1')).toBe(3)
})

// The client of node:http2 ends a request before it resets it, so these frames are written by hand.
test.each(RESETS)('a message that is whole and reset by %s before its end charges nothing', async (_, code) => {
  const door = await open()
  const socket = connect(Number(new URL(rlsAddress(door.service)).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const reset = Buffer.alloc(4)
  reset.writeUInt32BE(code)
  const path = PATHS.ask
  const head = {
    ':method': 'POST',
    ':scheme': 'http',
    ':authority': 'x',
    ':path': path,
    'content-type': 'application/grpc',
    'x-api-key': door.service.key,
  }
  const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
  const fields = Object.entries(head).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)])
  const parts = [
    http2Frame({ type: 4, stream: 0 }, Buffer.alloc(0)),
    http2Frame({ type: 1, flags: 4, stream: 1 }, Buffer.concat(fields)),
    http2Frame({ type: 0, stream: 1 }, framed(requestFor('10.0.0.1'))),
    http2Frame({ type: 3, stream: 1 }, reset),
    http2Frame({ type: 6, stream: 0 }, Buffer.alloc(8)),
  ]
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes.toString('hex')
  })
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), ...parts]))
  await until('the answer to the ping', async () => received.includes('0000080601'))
  expect(await remaining(door, '10.0.0.1')).toBe(3)
})

function http2Frame({ type, flags = 0, stream }: { type: number; flags?: number; stream: number }, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

test('a caller that stops reading gets its answers when it reads on', async () => {
  const { service } = await open()
  const session = openConnection(rlsAddress(service), 0)
  const streams = Array.from({ length: 50 }, () => begin(session, PATHS.ask, { 'x-api-key': service.key }))
  const answers = streams.map(answerTo)
  let [begun, bytes] = [0, 0]
  for (const stream of streams) {
    stream.on('response', () => {
      begun += 1
    })
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
    })
    stream.end(framed(requestFor('10.0.0.1', { hits_addend: { value: 0 } })))
  }
  await until('all headers', async () => begun === streams.length)
  expect(bytes).toBe(0)
  session.settings({ initialWindowSize: 65_535 })
  for (const { trailers } of await Promise.all(answers)) expect(trailers['grpc-status']).toBe('0')
})
