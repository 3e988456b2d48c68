// Callers of the RLS door that need no key, send too little, read too little or are too many.

import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { INCOMPLETE_MS, SWEEP_MS } from '../src/doors/rls/call-guard.ts'
import { Callers } from '../src/doors/rls/callers.ts'
import { loadProtocol, SERVICES } from '../src/doors/rls/protocol.ts'
import { MOST_REFLECTING } from '../src/doors/rls/reflection.ts'
import { HEADER_BYTES } from '../src/doors/rls/rls-connection.ts'
import { FailedKeys, TOO_MANY_FAILURES } from '../src/keys/failed-keys.ts'
import type { Service } from '../src/service.ts'
import { Stats } from '../src/stats/stats.ts'
import { RlsClient, rlsAddress } from './rls-client.ts'
import { startDoor } from './rls-door.ts'
import { begin, framed, openConnection, PATHS, statusOf } from './rls-streams.ts'
import { startService } from './running-service.ts'

test.each([
  ['addresses of one IPv6 network', (i: number) => `2001:db8::${i.toString(16)}`],
  ['two spellings of an address', (i: number) => `${i % 2 === 0 ? '::ffff:' : ''}192.0.2.1`],
])('%s are counted together when keys fail', (_, addressOf) => {
  const stats = new Stats()
  const keys = { verify: () => undefined }
  const service = {
    status: { state: 'ready' },
    keysRequired: true,
    keys,
    failedKeys: new FailedKeys(stats),
  } as unknown as Service
  const callers = new Callers(service, false)
  const admit = (i: number) => () => callers.admit({}, { remoteAddress: addressOf(i) })
  expect(admit(1)).toThrow('an API key is missing')
  for (let i = 2; i < 40 && stats.limitedAuthentications === 0; i++) expect(admit(i)).toThrow()
  expect(admit(40)).toThrow(TOO_MANY_FAILURES)
})

test('a caller without a key is refused by its headers, before a message is read', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const stream = begin(openConnection(rlsAddress(service)), PATHS.ask)
  stream.write(framed(Buffer.alloc(1000), 1_000_000))
  expect(await statusOf(stream)).toBe(status.UNAUTHENTICATED)
})

test.each([PATHS.ask, PATHS.check, PATHS.reflect])(
  '%s: a request that is not whole in time ends its connection',
  async (path) => {
    const { address, guard, pass } = await startDoor()
    const session = openConnection(address)
    const stream = begin(session, path)
    stream.write(framed(Buffer.alloc(1000), 1_000_000))
    await until('an incomplete call', async () => guard.incomplete === 1)
    pass(INCOMPLETE_MS)
    expect([guard.incomplete, session.closed]).toEqual([1, false])
    pass(SWEEP_MS)
    await until('the end of the connection', async () => session.closed)
    expect(guard.incomplete).toBe(0)
  },
)

test('a caller of health that does not read its answer loses its connection', async () => {
  const { address, guard, pass } = await startDoor()
  const session = openConnection(address, 0)
  const stream = begin(session, PATHS.check)
  stream.end(framed(Buffer.alloc(0)))
  await new Promise((resolve) => stream.once('response', resolve))
  pass(INCOMPLETE_MS)
  expect([guard.incomplete, session.closed]).toEqual([1, false])
  pass(SWEEP_MS)
  await until('the end of the connection', async () => session.closed)
  expect(guard.incomplete).toBe(0)
})

/** Calls health with a header of this length. */
function withHeader(session: ClientHttp2Session, length: number): ClientHttp2Stream {
  return begin(session, PATHS.check, { 'x-long': 'x'.repeat(length) }).end(framed(Buffer.alloc(0)))
}

test('a call with too large headers is reset, and other calls on its connection are answered', async () => {
  const { address } = await startDoor()
  const session = openConnection(address)
  expect(await statusOf(withHeader(session, HEADER_BYTES - 1000))).toBe(status.OK)
  const large = withHeader(session, HEADER_BYTES)
  expect(await statusOf(large)).toBe('closed')
  expect(large.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  expect(await statusOf(withHeader(session, HEADER_BYTES - 1000))).toBe(status.OK)
})

test('a client that sends too large headers before it knows the maximum loses its connection', async () => {
  const { address } = await startDoor()
  const session = openConnection(address)
  expect(await statusOf(withHeader(session, HEADER_BYTES))).toBe('closed')
  await until('the end of the connection', async () => session.closed)
})

test('a call that is complete, refused or cancelled is not awaited', async () => {
  const { address, guard } = await startDoor()
  const session = openConnection(address)
  const whole = begin(session, PATHS.check)
  whole.end(framed(Buffer.alloc(0)))
  expect(await statusOf(whole)).toBe(status.OK)
  const cancelled = begin(session, PATHS.ask)
  await until('an incomplete call', async () => guard.incomplete === 1)
  cancelled.close()
  await until('no incomplete call', async () => guard.incomplete === 0)
  const watch = begin(session, PATHS.watch)
  watch.end(framed(Buffer.alloc(0)))
  const reflect = begin(session, PATHS.reflect)
  reflect.write(framed(Buffer.from('3a00', 'hex')))
  await Promise.all([watch, reflect].map((stream) => new Promise((resolve) => stream.once('data', resolve))))
  expect(guard.incomplete).toBe(0)
})

test('incomplete calls are bounded in number: the oldest goes first', async () => {
  const { address, guard, pass } = await startDoor({ mostIncomplete: { admitted: 2, open: 10 } })
  const sessions = [openConnection(address), openConnection(address), openConnection(address)]
  for (const [i, session] of sessions.slice(0, 2).entries()) {
    begin(session, PATHS.ask)
    await until('an incomplete call', async () => guard.incomplete === i + 1)
  }
  begin(sessions[2], PATHS.ask)
  await until('one too many', async () => guard.incomplete === 3)
  pass(2 * SWEEP_MS)
  await until('the end of the oldest', async () => sessions[0].closed)
  expect([guard.incomplete, sessions[1].closed, sessions[2].closed]).toEqual([2, false, false])
})

test('connections are bounded in number, and a place is free again when one ends', async () => {
  const { address } = await startDoor({ mostConnections: 2 })
  const health = async (session: ClientHttp2Session): Promise<number | 'closed'> => {
    const stream = begin(session, PATHS.check)
    stream.end(framed(Buffer.alloc(0)))
    return statusOf(stream)
  }
  const [first, second] = [openConnection(address), openConnection(address)]
  expect([await health(first), await health(second)]).toEqual([status.OK, status.OK])
  expect(await health(openConnection(address))).toBe('closed')
  first.destroy()
  await until('a free place', async () => (await health(openConnection(address))) === status.OK)
  expect(await health(second)).toBe(status.OK)
})

test('reflection reads no question before earlier answers were read', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const session = openConnection(rlsAddress(service), 0)
  const stream = begin(session, PATHS.reflect)
  const { requestSerialize } = loadProtocol().reflection.ServerReflectionInfo
  const question = framed(requestSerialize({ file_containing_symbol: SERVICES.rateLimit } as never))
  // More than the windows and buffers of HTTP/2 hold.
  const questions = Buffer.concat(Array.from({ length: 20_000 }, () => question))
  stream.write(questions)
  const rls = new RlsClient(rlsAddress(service))
  let [sent, quiet] = [-1, 0]
  await until('a pause', async () => {
    await rls.unary('health', 'Check', { service: '' })
    const now = (session.socket as unknown as { readonly bytesWritten: number }).bytesWritten
    quiet = now === sent ? quiet + 1 : 0
    sent = now
    return quiet === 50
  })
  expect(sent).toBeLessThan(questions.length / 2)
})

test('the number of callers of reflection is bounded, and a place is free again when one ends', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const session = openConnection(rlsAddress(service))
  const question = framed(Buffer.from('3a00', 'hex'))
  const ask = (): ClientHttp2Stream => {
    const stream = begin(session, PATHS.reflect)
    stream.write(question)
    return stream
  }
  const [first] = await Promise.all(
    Array.from({ length: MOST_REFLECTING }, async () => {
      const stream = ask()
      await new Promise((resolve) => stream.once('data', resolve))
      return stream
    }),
  )
  expect(await statusOf(ask())).toBe(status.RESOURCE_EXHAUSTED)
  first.close()
  await until('a free place', async () => {
    const stream = ask()
    return new Promise<boolean>((resolve) => {
      stream.once('data', () => resolve(true))
      void statusOf(stream).then(() => resolve(false))
    })
  })
})

test('watchers of health are bounded in number, also those of unknown names', async () => {
  const { address } = await startDoor({ mostWatchers: 3 })
  const session = openConnection(address)
  const { requestSerialize } = loadProtocol().health.Watch
  const watch = (name: string): Promise<unknown> => {
    const stream = begin(session, PATHS.watch)
    stream.end(framed(requestSerialize({ service: name } as never)))
    return Promise.race([new Promise((resolve) => stream.once('data', () => resolve('watching'))), statusOf(stream)])
  }
  for (const name of ['unknown', 'ratelimit', 'other']) expect(await watch(name)).toBe('watching')
  expect(await watch('unknown')).toBe(status.RESOURCE_EXHAUSTED)
})
