// Connections whose checks are read straight from the socket: order, bounds, time limits, ends and stops.

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { SluiceError } from 'sluice'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CheckRequest } from '../src/decide/check-request.ts'
import type { CheckResult } from '../src/decide/decider.ts'
import { Authentication } from '../src/doors/http/authentication.ts'
import { CheckDoor } from '../src/doors/http/check-door.ts'
import { FastChecks } from '../src/doors/http/fast-checks/fast-checks.ts'
import { MOST_DUE, MOST_PIECES } from '../src/doors/http/fast-checks/fast-connection.ts'
import { httpServer, KEEP_ALIVE_MS, OpenRequests } from '../src/doors/http/http-server.ts'
import type { Service } from '../src/service.ts'
import { requestsOfNodeHttp } from './both-ways/requests-of-node-http.ts'
import { checkText } from './both-ways/smuggling-corpus.ts'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

type Decide = (request: CheckRequest) => CheckResult | Promise<CheckResult>

/** A server with fast checks whose decisions are made by the test, without keys. */
async function startServer(check: Decide): Promise<{ fast: FastChecks; openRequests: OpenRequests; open(): Promise<Client> }> {
  const service = {
    status: { state: 'ready' },
    keysRequired: false,
    anyHost: true,
    trustedProxies: [],
    keys: { get: () => undefined },
    logger: pino({ level: 'silent' }),
    decider: { check },
  } as unknown as Service
  const authentication = new Authentication(service)
  const door = new CheckDoor(service, authentication, 16 * 1024)
  const openRequests = new OpenRequests()
  const server = httpServer((request, response) => door.answer(request, response), undefined)
  const fast = new FastChecks({ server, door, authentication, openRequests })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
    fast.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Client> => {
    const before = fast.connections.size
    const socket = connect(port, '127.0.0.1')
    while (fast.connections.size === before) await turn()
    return new Client(socket)
  }
  return { fast, openRequests, open }
}

/** `remain` of an answer is the number of its check. */
function resultOf({ clientId }: Pick<CheckRequest, 'clientId'>): CheckResult {
  const decision = { limit: 1, remaining: Number(clientId.replace('client-', '')), resetAfterMs: 0 }
  return { policy: { mode: 'off' }, decision, allowed: true, isShadowDenied: false } as unknown as CheckResult
}

class Client {
  readonly socket: Socket
  text = ''
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  /** The numbers of the answered checks. */
  get answered(): readonly number[] {
    return [...this.text.matchAll(/"remain":(\d+)/g)].map(([, remain]) => Number(remain))
  }

  send(text: string): void {
    this.socket.write(text)
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await turn()
  }
}

async function turns(count = 30): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

const check = (number: number, ...fields: string[]) => checkText({ key: 'none', id: `${number}` }, ...fields)
const checks = (count: number) => Array.from({ length: count }, (_, i) => check(i)).join('')
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

describe('pipelined checks', () => {
  test('are answered in their order, whatever the order of the decisions', async () => {
    const pending: ((decided: CheckResult) => void)[] = []
    const { open } = await startServer(() => new Promise((resolve) => pending.push(resolve)))
    const client = await open()
    client.send(checks(5))
    await client.until(() => pending.length === 5)
    for (const i of [3, 1, 4]) pending[i](resultOf({ clientId: `client-${i}` }))
    await turns()
    expect(client.answered).toEqual([])
    pending[0](resultOf({ clientId: 'client-0' }))
    await client.until(() => client.answered.length === 2)
    pending[2](resultOf({ clientId: 'client-2' }))
    await client.until(() => client.answered.length === 5)
    expect(client.answered).toEqual(upTo(5))
  })

  test('of one connection wait in bounded number', async () => {
    const pending: (() => void)[] = []
    const { open } = await startServer((request) => new Promise((resolve) => pending.push(() => resolve(resultOf(request)))))
    const client = await open()
    const count = MOST_DUE * 3 + 5
    client.send(checks(count))
    let decided = 0
    while (decided < count) {
      await client.until(() => pending.length > 0)
      await turns()
      expect(pending.length).toBeLessThanOrEqual(MOST_DUE)
      decided += pending.length
      for (const decide of pending.splice(0)) decide()
    }
    await client.until(() => client.answered.length === count)
    expect(client.answered).toEqual(upTo(count))
  })

  test('of a client that does not read are not decided until it reads', async () => {
    let decided = 0
    const { fast, open } = await startServer((request) => {
      decided += 1
      return resultOf(request)
    })
    const client = await open()
    client.socket.pause()
    const count = 40_000
    // Longer requests than answers, so that neither side fits into the buffers of the system.
    for (let i = 0; i < count; i++) client.send(check(i, `User-Agent: ${'x'.repeat(400)}`))
    let before = -1
    while (decided !== before) {
      before = decided
      await turns(300)
    }
    expect(decided).toBeGreaterThan(1000)
    expect(decided).toBeLessThan(count)
    // The service has stopped reading as well.
    expect(client.socket.writableLength).toBeGreaterThan(0)
    for (let i = 0; i < 70; i++) fast.sweep()
    expect(fast.connections.size).toBe(1)
    client.socket.resume()
    await client.until(() => decided === count)
    await client.until(() => client.text.endsWith('}}') && client.answered.length === count)
    expect(client.answered).toEqual(upTo(count))
  })

  test('before a foreign byte are answered first', async () => {
    const pending: (() => void)[] = []
    const { fast, open } = await startServer(
      (request) => new Promise((resolve) => pending.push(() => resolve(resultOf(request)))),
    )
    const client = await open()
    client.send(check(0) + check(1) + check(2, 'X-Other: 1') + check(3))
    await client.until(() => pending.length === 2)
    await turns()
    expect(pending.length).toBe(2)
    for (const decide of pending.splice(0)) decide()
    await client.until(() => pending.length === 2)
    expect(fast.connections.size).toBe(0)
    for (const decide of pending.splice(0)) decide()
    await client.until(() => client.answered.length === 4)
    expect(client.answered).toEqual(upTo(4))
  })
})

test('a connection that node:http has stays there', async () => {
  const { fast, open } = await startServer(resultOf)
  const client = await open()
  const nodeRequests = requestsOfNodeHttp()
  for (const [i, fields] of [[], ['X-Other: 1'], []].entries()) {
    client.send(check(i, ...fields))
    await client.until(() => client.answered.length === i + 1)
    expect([nodeRequests(), fast.connections.size]).toEqual([i, i === 0 ? 1 : 0])
  }
})

test('a request in too many pieces goes to node:http', async () => {
  const { open } = await startServer(resultOf)
  for (const [pieces, expected] of [
    [MOST_PIECES, 0],
    [MOST_PIECES + 1, 1],
  ]) {
    const nodeRequests = requestsOfNodeHttp()
    const client = await open()
    const text = check(1)
    for (let i = 0; i < pieces; i++) {
      client.send(i === pieces - 1 ? text.slice(i) : text[i])
      await turns(6)
    }
    await client.until(() => client.answered.length === 1)
    expect([pieces, nodeRequests()]).toEqual([pieces, expected])
  }
})

describe('time limits', () => {
  test('an incomplete or silent request goes to node:http, which has the limits', async () => {
    const { fast, open } = await startServer(resultOf)
    const silent = await open()
    const half = await open()
    half.send(check(1).slice(0, -3))
    await turns()
    fast.sweep()
    expect(fast.connections.size).toBe(2)
    fast.sweep()
    expect(fast.connections.size).toBe(0)
    const nodeRequests = requestsOfNodeHttp()
    half.send(check(1).slice(-3))
    silent.send(check(2))
    await half.until(() => half.answered.length + silent.answered.length === 2)
    expect([half.answered, silent.answered, nodeRequests()]).toEqual([[1], [2], 2])
  })

  test('an idle connection is closed after the keep-alive time, counted from its last answer', async () => {
    const { fast, open } = await startServer(resultOf)
    const client = await open()
    const sweeps = KEEP_ALIVE_MS / 1000
    for (const i of [0, 1]) {
      client.send(check(i))
      await client.until(() => client.answered.length === i + 1)
      for (let sweep = 0; sweep < sweeps; sweep++) fast.sweep()
      await turns()
      expect(client.isClosed).toBe(false)
    }
    fast.sweep()
    await client.until(() => client.isClosed)
    expect(fast.connections.size).toBe(0)
  })

  test('a check that is being decided has time', async () => {
    let decide = () => {}
    const { fast, open } = await startServer(
      (request) =>
        new Promise((resolve) => {
          decide = () => resolve(resultOf(request))
        }),
    )
    const client = await open()
    client.send(check(7))
    await turns()
    for (let sweep = 0; sweep < 100; sweep++) fast.sweep()
    decide()
    await client.until(() => client.answered.length === 1)
    expect(fast.connections.size).toBe(1)
  })
})

describe('the end of a connection', () => {
  test('a client that ends its side gets its answers first', async () => {
    const pending: (() => void)[] = []
    const { open } = await startServer((request) => new Promise((resolve) => pending.push(() => resolve(resultOf(request)))))
    const client = await open()
    client.socket.end(checks(2))
    await client.until(() => pending.length === 2)
    await turns()
    for (const decide of pending) decide()
    await client.until(() => client.isClosed)
    expect(client.answered).toEqual([0, 1])
  })

  test('a request that is cut off while another is decided is refused', async () => {
    for (const rest of [check(1).slice(0, -1), 'nonsense\r\n\r\n', 'X']) {
      const pending: (() => void)[] = []
      const { open } = await startServer((request) => new Promise((resolve) => pending.push(() => resolve(resultOf(request)))))
      const client = await open()
      client.socket.end(check(0) + rest)
      await client.until(() => pending.length === 1)
      await turns()
      pending[0]()
      await client.until(() => client.isClosed)
      expect(client.answered).toEqual([0])
      expect(client.text).toContain('HTTP/1.1 400 Bad Request')
    }
  })

  test('a client that goes away leaves nothing behind', async () => {
    const pending: (() => void)[] = []
    const { fast, openRequests, open } = await startServer(
      (request) => new Promise((resolve) => pending.push(() => resolve(resultOf(request)))),
    )
    const client = await open()
    client.send(checks(3) + check(3, 'X-Other: 1'))
    await client.until(() => pending.length === 3)
    client.socket.resetAndDestroy()
    await client.until(() => fast.connections.size === 0)
    await openRequests.allDone()
    for (const decide of pending) decide()
    await turns()
  })
})

test('a check that cannot be decided is answered as node:http answers it', async () => {
  const failures = [
    () => Promise.reject(new SluiceError('ERR_STORE_FATAL', 'the störe is away')),
    () => {
      throw new SluiceError('ERR_STORE_FATAL', 'the store is away')
    },
    () => {
      throw new TypeError('unexpected')
    },
  ]
  for (const fail of failures) {
    const { fast, open } = await startServer(fail)
    const [ours, theirs] = [await open(), await open()]
    ours.send(check(1))
    theirs.send(check(1, 'X-Other: 1'))
    await ours.until(() => ours.text.endsWith('null}') && theirs.text.endsWith('null}'))
    expect(fast.connections.size).toBe(1)
    expect(ours.text).toMatch(/HTTP\/1\.1 50[03] /)
    expect(ours.text).toBe(theirs.text)
  }
})

test('the date is that of node:http', async () => {
  const { open } = await startServer(resultOf)
  const [ours, theirs] = [await open(), await open()]
  // A second may begin between the two answers.
  const dateIn = ({ text }: Client) => Date.parse(/^Date: (.*)\r$/m.exec(text)?.[1] ?? '')
  ours.send(check(1))
  theirs.send(check(1, 'X-Other: 1'))
  await ours.until(() => ours.answered.length + theirs.answered.length === 2)
  expect(dateIn(theirs) - dateIn(ours)).toBeOneOf([0, 1000])
  expect(Math.abs(dateIn(ours) - Date.now())).toBeLessThan(2000)
})

describe('in the service', () => {
  const body = { client_id: 'ada', route: '/a' }

  test.each([
    [{}, 0],
    [{ fastChecks: 'false' }, 1],
    // At this level each request is logged.
    [{ logLevel: 'debug' }, 1],
  ])('with %j, node:http reads %i of one check', async (flags, expected) => {
    const logger = pino({ level: 'info', ...('logLevel' in flags && { level: flags.logLevel }) }, { write: () => {} })
    const { call } = await startService({ flags, logger })
    const nodeRequests = requestsOfNodeHttp()
    expect((await call('POST', '/v1/check', body)).status).toBe(200)
    expect(nodeRequests()).toBe(expected)
  })

  test('on a unix socket', async () => {
    const path = join(temporaryFolder(), 's')
    const { key } = await startService({ flags: { listen: `unix:${path}` } })
    const nodeRequests = requestsOfNodeHttp()
    const client = new Client(connect(path))
    client.send(checkText({ key, id: '1' }))
    await client.until(() => client.answered.length === 1)
    expect(nodeRequests()).toBe(0)
    client.socket.destroy()
  })

  test('a stop closes idle connections at once, and others after the last answer', async () => {
    const service = await startService()
    const { hostname, port } = new URL(service.address)
    const [idle, silent, half] = Array.from({ length: 3 }, () => new Client(connect(Number(port), hostname)))
    idle.send(checkText({ key: service.key, id: '1' }))
    const text = checkText({ key: service.key, id: '2' })
    half.send(text.slice(0, -1))
    await idle.until(() => idle.answered.length === 1)
    await turns()
    const stopped = service.close()
    await idle.until(() => idle.isClosed)
    expect([silent.isClosed, half.isClosed]).toEqual([false, false])
    half.send(text.slice(-1))
    await half.until(() => half.isClosed && silent.isClosed)
    expect(half.text).toMatch(/HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/i)
    await stopped
  })
})
