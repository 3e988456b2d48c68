// Connections of the RLS door: pings, age, idle time and stops; and checks whose decision takes time.

import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import type { CheckResult } from '../src/decide/decider.ts'
import { INCOMPLETE_MS, SWEEP_MS } from '../src/doors/rls/call-guard.ts'
import { loadProtocol } from '../src/doors/rls/protocol.ts'
import { AGE_GRACE_MS, IDLE_MS, PING_EVERY_MS, PING_WITHIN_MS } from '../src/doors/rls/rls-connection.ts'
import { ServerError } from '../src/errors.ts'
import { entriesOf } from './rls-client.ts'
import { startDoor } from './rls-door.ts'
import { answerTo, begin, framed, openConnection, PATHS, statusOf } from './rls-streams.ts'
import { temporaryFolder } from './temporary-folder.ts'

const { requestSerialize } = loadProtocol().rateLimit.ShouldRateLimit
const REQUEST = framed(requestSerialize({ domain: 'edge', descriptors: [{ entries: entriesOf({ a: 'b' }) }] } as never))

/** Resolves when the door has read everything that the client sent before. */
function roundTrip(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))))
}

/** Decisions that the test makes. */
function openDecisions() {
  const decisions: PromiseWithResolvers<CheckResult | undefined>[] = []
  const decide = (): Promise<CheckResult> => {
    const decision = withResolvers<CheckResult | undefined>()
    decisions.push(decision)
    return decision.promise as Promise<CheckResult>
  }
  return { decisions, decide }
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolvers: Omit<PromiseWithResolvers<T>, 'promise'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    resolvers = { resolve, reject }
  })
  return { promise, ...(resolvers as Omit<PromiseWithResolvers<T>, 'promise'>) }
}

test('a peer that does not answer a ping loses its connection, and one that does keeps it', async () => {
  const { address, pass } = await startDoor()
  const { port } = new URL(address)
  const silent = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void silent.destroy())
  silent.resume()
  silent.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
  const session = openConnection(address)
  await once(session, 'remoteSettings')
  pass(PING_EVERY_MS)
  await once(session, 'ping')
  await roundTrip(session)
  pass(PING_WITHIN_MS - SWEEP_MS)
  await roundTrip(session)
  expect(silent.closed).toBe(false)
  pass(SWEEP_MS)
  await until('the end of the silent connection', async () => silent.closed)
  await roundTrip(session)
  expect(session.closed).toBe(false)
})

test('an idle connection is closed, and one with an open call is not', async () => {
  const { address, pass } = await startDoor({ connectionAgeMs: 10 * IDLE_MS })
  const [idle, used] = [openConnection(address), openConnection(address)]
  const watch = begin(used, PATHS.watch)
  watch.end(framed(Buffer.alloc(0)))
  await Promise.all([once(idle, 'remoteSettings'), once(watch, 'data')])
  for (let ms = 0; ms < IDLE_MS - PING_EVERY_MS; ms += PING_EVERY_MS) {
    pass(PING_EVERY_MS)
    await Promise.all([roundTrip(idle), roundTrip(used)])
  }
  expect(idle.closed).toBe(false)
  pass(PING_EVERY_MS + SWEEP_MS)
  await until('the end of the idle connection', async () => idle.closed)
  await roundTrip(used)
  expect(used.closed).toBe(false)
})

test('a connection that is too old answers its open calls, and ends after a grace time', async () => {
  const { decisions, decide } = openDecisions()
  const { address, pass } = await startDoor({ connectionAgeMs: 10_000, decide })
  const [answered, stuck] = [openConnection(address), openConnection(address)]
  const [first, second] = [answered, stuck].map((session) => begin(session, PATHS.ask).end(REQUEST))
  await until('both checks', async () => decisions.length === 2)
  const status = statusOf(first)
  const ends = statusOf(second)
  const goaways = [once(answered, 'goaway'), once(stuck, 'goaway')]
  pass(8000)
  await Promise.all([roundTrip(answered), roundTrip(stuck)])
  expect([answered.closed, stuck.closed]).toEqual([false, false])
  // The age differs by up to a tenth.
  pass(4000)
  await Promise.all(goaways)
  decisions[0].resolve(undefined)
  expect(await status).toBe(0)
  await until('the end of the connection', async () => answered.destroyed)
  pass(AGE_GRACE_MS / 2)
  await new Promise(setImmediate)
  expect(stuck.destroyed).toBe(false)
  pass(AGE_GRACE_MS)
  expect(await ends).toBe('closed')
})

test.each([
  ['is too old', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
  ['is not HTTP/2', 'GET / HTTP/1.1\r\n\r\n'],
])('a client cannot keep a connection that %s by leaving its side open', async (_, sent) => {
  const { address, pass } = await startDoor({ connectionAgeMs: 10_000, mostConnections: 1 })
  const silent = connect({ port: Number(new URL(address).port), host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void silent.destroy())
  silent.on('error', () => {})
  silent.resume()
  silent.write(sent, 'latin1')
  await once(silent, 'data')
  // The age differs by up to a tenth.
  pass(11_000)
  await once(silent, 'end')
  pass(AGE_GRACE_MS + SWEEP_MS)
  await until('a free place', async () => {
    const stream = begin(openConnection(address), PATHS.check)
    stream.end(framed(Buffer.alloc(0)))
    return (await statusOf(stream)) === status.OK
  })
})

test('a stop answers open calls, and then waits no longer', async () => {
  const { decisions, decide } = openDecisions()
  const { address, close } = await startDoor({ decide })
  const session = openConnection(address)
  const stream = begin(session, PATHS.ask).end(REQUEST)
  await until('the check', async () => decisions.length === 1)
  const answer = statusOf(stream)
  const closed = close(20_000)
  await once(session, 'goaway')
  decisions[0].resolve(undefined)
  expect(await answer).toBe(status.OK)
  await closed
})

test('a stop does not wait for a decision that takes too long', async () => {
  const { decisions, decide } = openDecisions()
  const { address, close } = await startDoor({ decide })
  const stream = begin(openConnection(address), PATHS.ask).end(REQUEST)
  await until('the check', async () => decisions.length === 1)
  const answer = statusOf(stream)
  await close(20)
  expect(await answer).toBe('closed')
})

test('a decision that takes longer than the deadline is answered in time, and once', async () => {
  const { decisions, decide } = openDecisions()
  const { address } = await startDoor({ decide })
  const session = openConnection(address)
  const odd = { 'content-type': 'application/grpc; form=odd' }
  const streams = [{}, odd].map((form) => begin(session, PATHS.ask, { 'grpc-timeout': '200m', ...form }))
  const answers = streams.map(answerTo)
  for (const stream of streams) stream.end(REQUEST)
  await until('both checks', async () => decisions.length === 2)
  const [plain, byLibrary] = await Promise.all(answers)
  expect(plain.headers).toMatchObject({ 'grpc-status': String(status.DEADLINE_EXCEEDED), 'grpc-message': 'Deadline%20exceeded' })
  expect(plain).toEqual(byLibrary)
  for (const decision of decisions) decision.resolve(undefined)
  await roundTrip(session)
})

test('a caller that goes away before its decision, or whose decision fails, harms nobody', async () => {
  const { decisions, decide } = openDecisions()
  const { address } = await startDoor({ decide })
  const [session, gone] = [openConnection(address), openConnection(address)]
  const cancelled = begin(session, PATHS.ask).end(REQUEST)
  begin(gone, PATHS.ask).end(REQUEST)
  const failing = [begin(session, PATHS.ask), begin(session, PATHS.ask)]
  const statuses = failing.map(statusOf)
  await until('two checks', async () => decisions.length === 2)
  for (const stream of failing) stream.end(REQUEST)
  await until('all checks', async () => decisions.length === 4)
  cancelled.close(8)
  gone.destroy()
  await roundTrip(session)
  decisions[0].resolve(undefined)
  decisions[1].reject(new Error('a secret'))
  decisions[2].reject(new Error('a secret'))
  decisions[3].reject(new ServerError('ERR_INPUT', 'wrong'))
  expect(await Promise.all(statuses)).toEqual([status.UNAVAILABLE, status.INVALID_ARGUMENT])
  await roundTrip(session)
})

test('a request on a socket file that is not whole in time ends its connection, too', async () => {
  const path = join(temporaryFolder(), 'rls.sock')
  const { guard, pass } = await startDoor({ address: { socket: path } })
  const session = connectHttp2('http://localhost', { createConnection: () => connect(path) })
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  begin(session, PATHS.ask).write(REQUEST.subarray(0, -1))
  await until('an incomplete call', async () => guard.incomplete === 1)
  pass(INCOMPLETE_MS + SWEEP_MS)
  await until('the end of the connection', async () => session.closed)
})
