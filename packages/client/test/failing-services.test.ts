// Both doors of the client against fake servers that answer, lose connections, hang, or do not exist. client.test.ts runs them against
// the real service.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createLimiter, fixedWindow } from 'sluice'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createClient as createByFetch } from '../src/index.ts'
import { ClientError, type ClientOptions, createClient as createByNode } from '../src/node.ts'

interface CheckJson {
  readonly client_id: string
  readonly route: string
  readonly cost?: number
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly key: string | undefined
  readonly body: { checks: CheckJson[] } & CheckJson
}

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** A server that records requests. `answer` may answer, or not. */
async function serverThat(answer: (asked: Asked, response: ServerResponse, request: IncomingMessage) => void, port = 0) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { method = '', url: path = '', headers } = request
    const one = { method, path, key: headers['api-key'] as string | undefined, body: text === '' ? undefined : JSON.parse(text) }
    asked.push(one)
    answer(one, response, request)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    asked,
    port: (server.address() as AddressInfo).port,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
}

const send = (response: ServerResponse, status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body))
const success = (data: unknown) => ({ meta: { message: 'success', code: 200, status: 'ok' }, data })
const failure = (code: number, error: string, message: string) => ({
  meta: { message, code, status: 'error', error },
  data: null,
})

/** Allows every cost below 10. `remain` identifies the client. */
const result = ({ client_id, cost = 1 }: CheckJson) => ({
  status: cost < 10 ? 'Allow' : 'Deny',
  limit: 5000,
  remain: Number(client_id),
  reset_in_second: 3,
  ...(cost < 10 ? {} : { retry_after_ms: cost === 99 ? null : 1234 }),
})

const decides = ({ path, body }: Asked, response: ServerResponse) =>
  send(response, 200, success(path === '/v1/check' ? result(body) : { results: body.checks.map(result) }))

const DOORS = { 'sluice-client': createByFetch, 'sluice-client/node': createByNode } as const

describe.each(Object.keys(DOORS) as (keyof typeof DOORS)[])('%s', (door) => {
  function clientOf(options: Omit<ClientOptions, 'maxConnections' | 'tls'>) {
    const client = DOORS[door](options)
    cleanUps.push(() => client.close())
    return client
  }

  describe('checks', () => {
    test('of the same turn are sent in one request, and each gets its own decision', async () => {
      const { asked, url } = await serverThat(decides)
      const client = clientOf({ url, apiKey: 'a-key' })
      const decisions = await Promise.all([
        client.check({ clientId: '1', route: '/a' }),
        client.check({ clientId: '2', route: '/b', cost: 10 }),
        client.check({ clientId: '3', route: '/c', cost: 99 }),
      ])
      expect(asked).toEqual([
        {
          method: 'POST',
          path: '/v1/check/batch',
          key: 'a-key',
          body: {
            checks: [
              { client_id: '1', route: '/a' },
              { client_id: '2', route: '/b', cost: 10 },
              { client_id: '3', route: '/c', cost: 99 },
            ],
          },
        },
      ])
      const both = { limit: 5000, resetAfterMs: 3000, isShadowDenied: false, source: 'service' }
      expect(decisions).toEqual([
        { ...both, allowed: true, remaining: 1, retryAfterMs: 0, retryable: true },
        { ...both, allowed: false, remaining: 2, retryAfterMs: 1234, retryable: true },
        { ...both, allowed: false, remaining: 3, retryAfterMs: Number.POSITIVE_INFINITY, retryable: false },
      ])
    })

    test.each([true, false])('the service decides that a denial is retryable: %s', async (retryable) => {
      const result = { status: 'Deny', limit: 5, remain: 0, reset_in_second: 60, retryable, retry_after_ms: 60_000 }
      const { url } = await serverThat((_, response) => send(response, 200, success(result)))
      expect(await clientOf({ url }).check({ clientId: '1', route: '/' })).toMatchObject({ retryable, retryAfterMs: 60_000 })
    })

    test('with batch: false each is a separate request; checkMany still combines', async () => {
      const { asked, url } = await serverThat(decides)
      const client = clientOf({ url, batch: false })
      await Promise.all([client.check({ clientId: '1', route: '/' }), client.check({ clientId: '2', route: '/' })])
      expect(asked.length).toBe(2)
      await client.checkMany([
        { clientId: '1', route: '/' },
        { clientId: '2', route: '/' },
      ])
      expect(asked.length).toBe(3)
    })

    test('a batch has at most a thousand checks', async () => {
      const { asked, url } = await serverThat(decides)
      const checks = Array.from({ length: 2500 }, (_, i) => ({ clientId: String(i), route: '/' }))
      const decisions = await clientOf({ url, failure: { timeoutMs: 5000 } }).checkMany(checks)
      expect(decisions.map(({ remaining }) => remaining)).toEqual(checks.map((_, i) => i))
      expect(asked.map(({ body }) => body.checks.length).sort()).toEqual([1000, 1000, 500])
    })

    test('a batch has at most as many bytes as the service accepts', async () => {
      const { asked, url } = await serverThat(decides)
      // Each takes 12,290 bytes in JSON, so 21 fit.
      const route = '\u0001'.repeat(2048)
      const checks = Array.from({ length: 50 }, (_, i) => ({ clientId: String(i), route }))
      await clientOf({ url, failure: { timeoutMs: 5000 } }).checkMany(checks)
      expect(asked.length).toBe(3)
      for (const { body } of asked) expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(256 * 1024)
    })

    test.each([
      [{ clientId: '', route: '/' }, 'clientId must have 1 to 256 characters, got 0'],
      [{ clientId: 'a'.repeat(257), route: '/' }, 'clientId must have 1 to 256 characters, got 257'],
      [{ clientId: 'a', route: 'b'.repeat(2049) }, 'route must have 1 to 2048 characters, got 2049'],
      [{ clientId: 7 as never, route: '/' }, 'clientId must be text, got number'],
      [{ clientId: 'a', route: '/', attributes: [] as never }, 'attributes must be an object of texts by name'],
      [{ clientId: 'a', route: '/', attributes: new Date(0) as never }, 'attributes must be an object of texts by name'],
      [
        { clientId: 'a', route: '/', attributes: { client: 'b' } },
        'attributes has the name "client", which attributes cannot have',
      ],
      [{ clientId: 'a', route: '/', attributes: { 'A b': 'b' } }, 'attributes has the name "A b", which attributes cannot have'],
      [{ clientId: 'a', route: '/', attributes: { plan: 7 as never } }, 'attributes.plan must be text, got number'],
      [
        { clientId: 'a', route: '/', attributes: { plan: 'x'.repeat(257) } },
        'attributes.plan must have at most 256 characters, got 257',
      ],
      [{ clientId: 'a', route: '/', attributes: { plan: '\ud800' } }, 'attributes.plan has half a character: \\ud800 to \\udfff'],
      [
        { clientId: 'a', route: '/', attributes: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`a${i}`, ''])) },
        'attributes must be at most 16, got 17',
      ],
      [{ clientId: 'a', route: '/', cost: 0.5 }, 'cost must be a whole number of at least 1, got 0.5'],
      [{ clientId: 'a', route: '/', cost: -1 }, 'cost must be a whole number of at least 1, got -1'],
      [{ clientId: 'a', route: '/', cost: Number.NaN }, 'cost must be a whole number of at least 1, got NaN'],
    ])('an invalid one is refused by the client, and does not affect the others: %#', async (bad, message) => {
      const { asked, url } = await serverThat(decides)
      const client = clientOf({ url })
      const [refused, decided] = await Promise.allSettled([client.check(bad), client.check({ clientId: '1', route: '/' })])
      expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'ERR_OPTION', message } })
      expect(decided).toMatchObject({ status: 'fulfilled', value: { allowed: true } })
      expect(asked.map(({ path, body }) => [path, body.client_id])).toEqual([['/v1/check', '1']])
    })
  })

  test('changes and reads of counters refuse what a check refuses, and send nothing', async () => {
    const { asked, url } = await serverThat(decides)
    const client = clientOf({ url })
    const bad = { clientId: '\ud800', route: '/' }
    const worse = { clientId: 'a', route: '/', attributes: { Plan: 'free' } }
    for (const counter of [bad, worse]) {
      const calls = [
        () => client.usage(counter),
        () => client.refund(counter),
        () => client.reset(counter),
        () => client.set({ ...counter, used: 1 }),
        () => client.reserve(counter),
      ]
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'ERR_OPTION' })
    }
    expect(asked).toEqual([])
  })

  describe('a service that fails', () => {
    test('a call to a service that hangs ends at the deadline', async () => {
      const { asked, url } = await serverThat(() => {})
      const startMs = performance.now()
      const error = await clientOf({ url, failure: { timeoutMs: 300 } })
        .check({ clientId: '1', route: '/' })
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'ClientError', code: 'ERR_DEADLINE', status: 0, mayHaveHappened: true })
      expect(performance.now() - startMs).toBeLessThan(3000)
      expect(asked.length).toBe(1)
    })

    test('also if it hangs in the middle of an answer', async () => {
      const { url } = await serverThat((_, response) => response.writeHead(200).write('{"meta"'))
      await expect(clientOf({ url, failure: { timeoutMs: 80 } }).check({ clientId: '1', route: '/' })).rejects.toMatchObject({
        code: 'ERR_DEADLINE',
      })
    })

    test('a check whose answer was lost is not sent again', async () => {
      const { asked, url } = await serverThat((_, response) => response.destroy())
      const error = clientOf({ url, failure: { timeoutMs: 300 } }).check({ clientId: '1', route: '/' })
      await expect(error).rejects.toMatchObject({ code: 'ERR_LOST', mayHaveHappened: true })
      expect(asked.length).toBe(1)
    })

    test('a refused connection is retried until the deadline, since nothing was sent', async () => {
      const { port } = await serverThat(decides)
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
      const client = clientOf({ url: `http://127.0.0.1:${port}`, failure: { timeoutMs: 2000 } })
      const decision = client.check({ clientId: '7', route: '/' })
      setTimeout(() => serverThat(decides, port), 100)
      await expect(decision).resolves.toMatchObject({ allowed: true, remaining: 7 })
    })

    test('if it is down, the first call waits, and later calls do not', async () => {
      const { port } = await serverThat(decides)
      for (const cleanUp of cleanUps.splice(0)) cleanUp()
      const client = clientOf({ url: `http://127.0.0.1:${port}`, failure: { timeoutMs: 500, failures: 10 } })
      const unreachable = { code: 'ERR_UNREACHABLE', mayHaveHappened: false, isOutage: true }
      await expect(client.check({ clientId: '1', route: '/' })).rejects.toMatchObject(unreachable)
      const tookMs: number[] = []
      for (let later = 0; later < 5; later++) {
        const startMs = performance.now()
        await expect(client.check({ clientId: '1', route: '/' })).rejects.toMatchObject(unreachable)
        tookMs.push(performance.now() - startMs)
      }
      // The machine may pause one of them, not all.
      expect(Math.min(...tookMs)).toBeLessThan(25)
    })

    test.each(['allow', 'deny'] as const)('then: %s decides instead, and the decision says so', async (then) => {
      const { url } = await serverThat((_, response) => send(response, 503, failure(503, 'ERR_NOT_READY', 'it is stopping')))
      const decision = await clientOf({ url, failure: { then } }).check({ clientId: '1', route: '/' })
      expect(decision).toMatchObject({
        allowed: then === 'allow',
        retryable: true,
        source: 'fallback',
        error: { code: 'ERR_NOT_READY', status: 503 },
      })
      expect(decision.error).toBeInstanceOf(ClientError)
    })

    test.each([408, 429, 502, 504])('a proxy that answers %i itself is an outage', async (status) => {
      const { url } = await serverThat((_, response) => response.writeHead(status).end('<html>busy</html>'))
      const decision = await clientOf({ url, failure: { then: 'allow' } }).check({ clientId: '1', route: '/' })
      expect(decision).toMatchObject({ allowed: true, source: 'fallback', error: { code: 'ERR_ANSWER', status } })
    })

    test('a check in a batch that could not be decided fails alone', async () => {
      const { url } = await serverThat((_, response) => {
        const allowed = { status: 'Allow', limit: 1, remain: 0, reset_in_second: 1 }
        send(response, 200, success({ results: [allowed, { status: 'Error', message: 'Redis did not answer' }] }))
      })
      const client = clientOf({ url })
      const [first, second] = await Promise.allSettled(['1', '2'].map((clientId) => client.check({ clientId, route: '/' })))
      expect(first).toMatchObject({ status: 'fulfilled' })
      expect(second).toMatchObject({
        status: 'rejected',
        reason: { code: 'ERR_STORE', status: 503, message: 'Redis did not answer' },
      })
    })

    test('a refusal is not an outage: no fallback hides a wrong key', async () => {
      const { url } = await serverThat((_, response) =>
        send(response, 401, failure(401, 'ERR_UNAUTHENTICATED', 'the key is not known')),
      )
      const error = clientOf({ url, failure: { then: 'allow' } }).check({ clientId: '1', route: '/' })
      await expect(error).rejects.toMatchObject({ code: 'ERR_UNAUTHENTICATED', status: 401, message: 'the key is not known' })
    })

    test('another server is not mistaken for the service', async () => {
      const { url } = await serverThat((_, response) => response.writeHead(200).end('<html>It works!</html>'))
      const message = 'the answer with status 200 is not from this service: "<html>It works!</html>"'
      await expect(clientOf({ url }).usage({ clientId: '1', route: '/' })).rejects.toMatchObject({ code: 'ERR_ANSWER', message })
    })

    test('a server that does not speak HTTP causes an error, not a crash', async () => {
      const server = createTcpServer((socket) => socket.end('hello\r\n\r\n')).listen(0, '127.0.0.1')
      cleanUps.push(() => server.close())
      await new Promise((resolve) => server.once('listening', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      await expect(clientOf({ url }).health()).rejects.toMatchObject({ name: 'ClientError', code: 'ERR_LOST' })
    })

    test('a closed client refuses', async () => {
      const client = clientOf({})
      client.close()
      await expect(client.check({ clientId: '1', route: '/' })).rejects.toMatchObject({ code: 'ERR_CLOSED' })
    })
  })

  test('an answer of another form causes an error of the client, not a crash', async () => {
    const { url } = await serverThat((_, response) => send(response, 200, success({ decided: true })))
    const client = clientOf({ url, failure: { then: 'allow' } })
    await expect(client.check({ clientId: '1', route: '/' })).rejects.toMatchObject({ name: 'ClientError', code: 'ERR_ANSWER' })
    await expect(client.usage({ clientId: '1', route: '/' })).rejects.toMatchObject({ code: 'ERR_ANSWER', mayHaveHappened: true })
  })

  test.each([null, 'Allow', 5, [], { results: [null, 7] }, undefined])(
    'an answer with the data %j is such an answer',
    async (data) => {
      const { url } = await serverThat((_, response) => send(response, 200, success(data)))
      const client = clientOf({ url, failure: { then: 'allow' } })
      const wrong = { name: 'ClientError', code: 'ERR_ANSWER', mayHaveHappened: true }
      await expect(client.check({ clientId: '1', route: '/' })).rejects.toMatchObject(wrong)
      const both = await Promise.allSettled(['1', '2'].map((clientId) => client.check({ clientId, route: '/' })))
      expect(both).toMatchObject([{ reason: wrong }, { reason: wrong }])
      await expect(client.reserve({ clientId: '1', route: '/' })).rejects.toMatchObject(wrong)
    },
  )

  test('a path in the URL precedes the API paths, and names are sent unchanged', async () => {
    const { asked, url } = await serverThat((_, response) => send(response, 200, success({ name: 'a', source: 'api' })))
    const client = clientOf({ url: `${url}/behind/` })
    await client.policies.get('a/b?c')
    await client.policies.delete('../x')
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /behind/v1/policies/a%2Fb%3Fc',
      'DELETE /behind/v1/policies/..%2Fx',
    ])
  })

  test.each([
    [{ url: 'ftp://x' }, /url must be/],
    [{ url: 'http://user:secret@x' }, /^url must not contain a user name or a password: pass the key as apiKey$/],
    [{ apiKey: 'a key\n' }, /apiKey must be a key/],
    [{ retry: 'yes' as never }, /^retry must be true or false, got "yes"$/],
    [{ failure: 'allow' as never }, /^failure must be an object/],
    [{ failure: { timeoutMs: 0 } }, /^failure.timeoutMs must be a whole number/],
    [{ failure: { timeoutMs: 2 ** 31 } }, /^failure.timeoutMs must be a whole number/],
    [{ failure: { failures: 1.5 } }, /^failure.failures must be a whole number/],
    [{ failure: { then: 'pass' as never } }, /^failure.then must be 'local' or 'allow' or 'deny' or 'throw', got "pass"$/],
    [{ failure: { then: 'local' } }, /^failure.then: 'local' needs failure.standIn/],
    [{ failure: { then: 'allow', standIn: { hit: () => undefined as never } } }, /^failure.standIn decides only with/],
    [{ failure: { timeout: 5 } as never }, /^there is no option failure.timeout: the options are timeoutMs/],
    [{ timeoutMs: 5 } as never, /^there is no option timeoutMs/],
  ] as const)('invalid options are refused: %#', (options, message) => {
    expect(() => DOORS[door](options)).toThrow(message)
  })

  describe('the breaker', () => {
    test('opens after failures in a row, and then nobody asks until the interval is over', async () => {
      let isUp = false
      const { asked, url } = await serverThat((one, response) =>
        isUp ? decides(one, response) : send(response, 503, failure(503, 'ERR_STORE', 'no store')),
      )
      vi.useFakeTimers({ toFake: ['Date'] })
      cleanUps.push(() => vi.useRealTimers())
      const client = clientOf({ url, failure: { then: 'deny', failures: 3, probeEveryMs: 700, timeoutMs: 20_000 } })
      const check = async () => (await client.check({ clientId: '7', route: '/' })).error?.code
      const codes = [await check(), await check(), await check(), await check(), await check()]
      expect(codes).toEqual(['ERR_STORE', 'ERR_STORE', 'ERR_STORE', 'ERR_NOT_ASKED', 'ERR_NOT_ASKED'])
      expect(asked).toHaveLength(3)
      expect(await client.check({ clientId: '7', route: '/' })).toMatchObject({ allowed: false, retryAfterMs: 700 })
      vi.setSystemTime(Date.now() + 700)
      expect([await check(), await check()]).toEqual(['ERR_STORE', 'ERR_NOT_ASKED'])
      isUp = true
      vi.setSystemTime(Date.now() + 700)
      expect([await check(), await check()]).toEqual([undefined, undefined])
      expect(asked).toHaveLength(6)
    })

    test("with then: 'throw' a call that is not asked fails at once, and nothing was sent", async () => {
      const { asked, url } = await serverThat((_, response) => send(response, 503, failure(503, 'ERR_STORE', 'no store')))
      const client = clientOf({ url, failure: { failures: 1, probeEveryMs: 60_000, timeoutMs: 20_000 } })
      const check = () => client.check({ clientId: '7', route: '/' })
      await expect(check()).rejects.toMatchObject({ code: 'ERR_STORE' })
      await expect(check()).rejects.toMatchObject({ code: 'ERR_NOT_ASKED', isOutage: true, mayHaveHappened: false })
      await expect(client.reserve({ clientId: '7', route: '/' })).rejects.toMatchObject({ code: 'ERR_NOT_ASKED' })
      expect(asked).toHaveLength(1)
    })

    test('refusals of the service keep it closed, and calls that are no decisions pass it', async () => {
      const { asked, url } = await serverThat((_, response) => send(response, 409, failure(409, 'ERR_NEEDS_RESERVE', 'no')))
      const client = clientOf({ url, failure: { failures: 1, timeoutMs: 20_000 } })
      for (let i = 0; i < 3; i++) await expect(client.check({ clientId: '7', route: '/' })).rejects.toMatchObject({ status: 409 })
      await expect(client.policies.list()).rejects.toMatchObject({ status: 409 })
      expect(asked).toHaveLength(4)
    })
  })

  test("then: 'local' decides by the stand-in, for each client and route", async () => {
    const standIn = createLimiter({ rules: fixedWindow({ limit: 3, window: '1h' }) })
    const client = clientOf({ url: 'http://127.0.0.1:1', retry: false, failure: { then: 'local', standIn } })
    const check = (clientId: string, route: string, cost = 1) => client.check({ clientId, route, cost })
    expect(await check('a', 'b c', 2)).toMatchObject({ allowed: true, limit: 3, remaining: 1, source: 'fallback' })
    expect(await check('a', 'b c', 2)).toMatchObject({ allowed: false, remaining: 1, retryable: true })
    expect(await check('a b', 'c', 2)).toMatchObject({ allowed: true, remaining: 1 })
    expect(await check('a', 'd', 4)).toMatchObject({ allowed: false, retryable: false, retryAfterMs: Number.POSITIVE_INFINITY })
    const hold = await client.reserve({ clientId: 'a', route: 'e', hold: 3 })
    expect(hold).toMatchObject({ allowed: true, granted: {}, token: undefined, decision: { remaining: 0 } })
    await hold.settle(1)
    expect((await client.run({ clientId: 'a', route: 'e', hold: { tokens: 7 } }, () => 1)).allowed).toBe(false)
  })

  test('an answer that is too long is not read', { timeout: 60_000 }, async () => {
    let written = 0
    const { url } = await serverThat((_, response) => {
      const piece = ' '.repeat(4 * 1024 * 1024)
      const more = () => {
        while (!response.destroyed && written < 40) {
          written += 1
          if (!response.write(piece)) return
        }
      }
      response.writeHead(200).on('drain', more)
      more()
    })
    const error = clientOf({ url, failure: { timeoutMs: 50_000 } }).usage({ clientId: '1', route: '/' })
    await expect(error).rejects.toMatchObject({ code: 'ERR_LOST', message: expect.stringContaining('the answer is too long') })
    expect(written).toBeLessThan(40)
  })
})

test('sluice-client says where sockets belong, and takes a fetch', async () => {
  expect(() => createByFetch({ url: 'unix:/tmp/x' })).toThrow(/^url names a socket, which sluice-client\/node can use/)
  expect(() => createByFetch({ fetch: 'x' as never })).toThrow(/^fetch must be a function$/)
  const urls: string[] = []
  const fetch = async (url: string) => {
    urls.push(url)
    return Response.json(success(result({ client_id: '5', route: '/' })))
  }
  const client = createByFetch({ url: 'https://sluice.invalid/a/', fetch })
  expect(await client.check({ clientId: '5', route: '/' })).toMatchObject({ allowed: true, remaining: 5 })
  expect(urls).toEqual(['https://sluice.invalid/a/v1/check'])
})

test('sluice-client/node refuses options that it does not know', () => {
  expect(() => createByNode({ maxConnections: 0 })).toThrow(/^maxConnections must be a whole number/)
  expect(() => createByNode({ tls: true as never })).toThrow(/^tls must be an object$/)
  expect(() => createByNode({ fetch } as never)).toThrow(/^there is no option fetch/)
})
