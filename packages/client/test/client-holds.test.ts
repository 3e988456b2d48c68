// Holds through the client library: against the real service, and against servers that lose answers.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { advance, START, startService } from '../../server/test/running-service.ts'
import { type Client, type ClientOptions, createClient } from '../src/node.ts'

const ada = { clientId: 'ada', route: '/a' }

async function setUp() {
  const { address, key, call } = await startService()
  const rules = [
    { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' },
    { algorithm: 'concurrency', limit: 2, ttl: '30s', name: 'places' },
  ]
  await call('PUT', '/v1/policies/own', { client: 'ada', rules })
  const client = clientOf({ url: address, apiKey: key, failure: { timeoutMs: 5000 } })
  const used = async () => (await client.usage(ada)).rules.map((rule) => rule.used)
  return { client, used, address, key }
}

function clientOf(options: ClientOptions): Client {
  const client = createClient(options)
  onTestFinished(() => client.close())
  return client
}

test('reserve, extend, settle, cancel', async () => {
  const { client, used } = await setUp()
  const hold = await client.reserve({ ...ada, hold: { tokens: 40 }, ttl: '10s' })
  expect(hold).toMatchObject({ allowed: true, granted: { tokens: 40, places: 1 }, expiresAt: new Date(START + 10_000) })
  expect(hold.decision).toEqual({
    allowed: true,
    limit: 2,
    remaining: 1,
    retryAfterMs: 0,
    retryable: true,
    resetAfterMs: 10_000,
    isShadowDenied: false,
    policy: 'own',
    rule: 'places',
    source: 'service',
  })
  await hold.extend('1m')
  expect(hold.expiresAt).toEqual(new Date(START + 60_000))
  expect((await client.usage(ada)).holds).toEqual({ open: 1, held: { tokens: 40, places: 1 } })
  await hold.settle({ tokens: 7 })
  expect(await used()).toEqual([7, 0])
  for (const again of [() => hold.settle(), () => hold.cancel(), () => hold.extend(5)]) {
    await expect(again()).rejects.toMatchObject({ code: 'ERR_HOLD' })
  }
  const other = await client.reserve({ ...ada, hold: { tokens: 40 }, atLeast: { tokens: 1 }, cost: 1, expired: 'release' })
  await other.cancel()
  expect(await used()).toEqual([7, 0])
})

test('a denial holds nothing, and there is nothing to end', async () => {
  const { client } = await setUp()
  const denied = await client.reserve({ ...ada, hold: { tokens: 101 } })
  expect(denied).toMatchObject({ allowed: false, token: undefined, granted: {}, expiresAt: undefined })
  expect(denied.decision.retryAfterMs).toBe(Number.POSITIVE_INFINITY)
  await expect(denied.settle()).rejects.toMatchObject({ code: 'ERR_HOLD' })
  await denied[Symbol.asyncDispose]()
})

test('another client with the same key ends a hold by its token, once', async () => {
  const { client, used, address, key } = await setUp()
  const { token } = await client.reserve({ ...ada, hold: { tokens: 40 } })
  const other = clientOf({ url: address, apiKey: key })
  await other.openHold(token as string).extend('5m')
  await other.openHold(token as string).settle(3)
  expect(await used()).toEqual([3, 0])
  await expect(client.openHold(token as string).cancel()).rejects.toMatchObject({ code: 'ERR_HOLD', status: 409 })
  await expect(client.openHold('hold1_x_y').cancel()).rejects.toMatchObject({ code: 'ERR_HOLD_TOKEN', status: 400 })
  expect(() => client.openHold('')).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
})

test('a settle that the service refuses leaves the hold open', async () => {
  const { client, used } = await setUp()
  const hold = await client.reserve({ ...ada, hold: { tokens: 40 } })
  await expect(hold.settle({ words: 1 })).rejects.toMatchObject({ code: 'ERR_INPUT' })
  await expect(hold.settle(-1)).rejects.toMatchObject({ code: 'ERR_INPUT' })
  await hold.settle({ tokens: 2 })
  expect(await used()).toEqual([2, 0])
})

test('wrong arguments fail before anything is sent, or are refused', async () => {
  const { client, used } = await setUp()
  await expect(client.reserve({ ...ada, clientId: '' })).rejects.toMatchObject({ code: 'ERR_OPTION' })
  await expect(client.reserve({ ...ada, route: '\ud800' })).rejects.toMatchObject({ code: 'ERR_OPTION' })
  await expect(client.reserve({ ...ada, hold: 0.5 })).rejects.toMatchObject({ code: 'ERR_INPUT' })
  await expect(client.check(ada)).rejects.toMatchObject({ code: 'ERR_NEEDS_RESERVE', status: 409, isOutage: false })
  expect(await used()).toEqual([0, 0])
})

describe('run', () => {
  test('settles in full what the work did not end, and returns its value', async () => {
    const { client, used } = await setUp()
    expect(await client.run({ ...ada, hold: { tokens: 40 } }, () => 'done')).toMatchObject({ allowed: true, value: 'done' })
    expect(await used()).toEqual([40, 0])
    await client.run({ ...ada, hold: { tokens: 40 } }, (hold) => hold.settle({ tokens: 1 }))
    await client.run({ ...ada, hold: { tokens: 40 } }, (hold) => hold.cancel())
    expect(await used()).toEqual([41, 0])
  })

  test('cancels if the work throws, and does not begin it if the request is denied', async () => {
    const { client, used } = await setUp()
    const failed = client.run({ ...ada, hold: { tokens: 40 } }, async () => {
      throw new Error('boom')
    })
    await expect(failed).rejects.toThrow('boom')
    expect(await used()).toEqual([0, 0])
    let hasRun = false
    const denied = await client.run({ ...ada, hold: { tokens: 101 } }, () => {
      hasRun = true
    })
    expect([denied.allowed, hasRun]).toEqual([false, false])
  })

  test('work that took longer than its hold has its value anyway', async () => {
    const { client, used } = await setUp()
    const result = await client.run({ ...ada, hold: { tokens: 40 }, ttl: '1s' }, () => {
      advance(1000)
      return 'late'
    })
    expect(result).toMatchObject({ allowed: true, value: 'late' })
    expect(await used()).toEqual([40, 0])
  })
})

test('a hold is cancelled at the end of its block, unless it has ended', async () => {
  const { client, used } = await setUp()
  const hold = await client.reserve({ ...ada, hold: { tokens: 40 } })
  await hold[Symbol.asyncDispose]()
  await hold[Symbol.asyncDispose]()
  const settled = await client.reserve({ ...ada, hold: { tokens: 40 } })
  await settled.settle(5)
  await settled[Symbol.asyncDispose]()
  expect(await used()).toEqual([5, 0])
})

describe('if the service does not answer', () => {
  /** Starts a server that holds everything, and treats ends as `onEnd` says. Returns the paths of all requests. */
  async function serverThat(onEnd: RequestListener) {
    const paths: string[] = []
    const server = createServer((request, response) => {
      paths.push(request.url ?? '')
      if (request.url !== '/v1/reserve') return onEnd(request, response)
      const data = { status: 'Allow', limit: 5, remain: 4, reset_in_second: 60, token: 't', granted: { a: 1 }, expires_at: null }
      response.end(JSON.stringify({ meta: {}, data }))
    })
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const client = clientOf({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, failure: { timeoutMs: 300 } })
    return { client, paths }
  }

  test.each([
    ['breaks the connection', ((request) => request.socket.destroy()) as RequestListener, 'ERR_LOST'],
    ['is silent', (() => {}) as RequestListener, 'ERR_DEADLINE'],
    [
      'fails',
      ((_, response) => {
        response.statusCode = 503
        response.end('{"meta":{"error":"ERR_STORE","message":"x"},"data":null}')
      }) as RequestListener,
      'ERR_STORE',
    ],
  ])('a settle is sent once if it %s, and run has its value', async (_, onEnd, code) => {
    const { client, paths } = await serverThat(onEnd)
    const hold = await client.reserve(ada)
    await expect(hold.settle()).rejects.toMatchObject({ code, mayHaveHappened: true })
    await expect(hold.settle()).rejects.toMatchObject({ code: 'ERR_HOLD' })
    await hold[Symbol.asyncDispose]()
    expect(paths).toEqual(['/v1/reserve', '/v1/settle'])
    expect(await client.run(ada, () => 'done')).toMatchObject({ value: 'done' })
    expect(paths).toHaveLength(4)
  })

  test.each([
    ['allow', true],
    ['deny', false],
  ] as const)('then: %s decides, and sends no end', async (then, allowed) => {
    const client = clientOf({ url: 'http://127.0.0.1:1', failure: { then, timeoutMs: 100 } })
    const hold = await client.reserve({ ...ada, hold: 5 })
    expect(hold).toMatchObject({ allowed, token: undefined, granted: {}, decision: { source: 'fallback' } })
    if (allowed) {
      await hold.extend('1m')
      await hold.settle(3)
    }
    expect((await client.run(ada, () => 1)).allowed).toBe(allowed)
  })

  test('then: throw fails', async () => {
    const client = clientOf({ url: 'http://127.0.0.1:1', failure: { timeoutMs: 100 } })
    await expect(client.run(ada, () => 1)).rejects.toMatchObject({ code: 'ERR_UNREACHABLE', mayHaveHappened: false })
  })
})
