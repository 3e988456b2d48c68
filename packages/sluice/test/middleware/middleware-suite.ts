// What every door of the middleware does, over real sockets: one table of behaviours, and each framework is one line.

import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../test/servers/redis-server.mjs'
import { startProxy, type TcpProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { fixedWindow } from '../../src/algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../src/algorithms/parse-rule.ts'
import { tokenBucket } from '../../src/algorithms/token-bucket/token-bucket.ts'
import { createLimiter } from '../../src/create-limiter.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import type { Application, Asked, Framework, Options, Running } from './frameworks.ts'
import { ask, RawConnection, type Reply, type Sent } from './raw-client.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

const hello: Application['handle'] = async () => ({ status: 200, body: 'hello' })

/** Answers with the status that the path asks for: `/404`. */
const statusInPath: Application['handle'] = async ({ path }) => ({ status: Number(path.slice(1)) || 200, body: 'done' })

const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status)

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

export function middlewareSuite(framework: Framework): void {
  const running: Running[] = []
  afterEach(async () => {
    for (const { stop } of running.splice(0)) await stop()
  })

  /** A server behind limiters that count on a fake clock; nobody is warned of proxies. */
  async function serve(limiters: Options | readonly Options[], application: Partial<Application> = {}) {
    const clock = fakeClock()
    const errors: unknown[] = []
    const defaults = (options: Options): Options => ({
      ...(options.limiter === undefined && { store: memoryStore({ clock }) }),
      address: { trustProxy: 0 },
      ...options,
    })
    const each = [limiters].flat() as readonly Options[]
    const made = new Map(each.map((options) => [options, defaults(options)]))
    const started = await framework.start({
      limiters: each.map((options) => made.get(options) as Options),
      handle: hello,
      onError: (error) => errors.push(error),
      http2: false,
      ...application,
    })
    running.push(started)
    return { clock, errors, port: started.port, ask: (request?: Sent) => ask(started.port, request) }
  }

  describe(`${framework.name}: what a response says`, () => {
    test('an allowed one has the fields of every rule', async () => {
      const rules = [tokenBucket({ capacity: 20, refill: 10, every: '1s', name: 'burst' }), DAILY]
      const { ask, clock } = await serve({ rules })
      await ask()
      clock.advance(1000)
      const { status, headers, body } = await ask()
      expect({ status, body }).toEqual({ status: 200, body: 'hello' })
      expect(headers['ratelimit-policy']).toBe('"burst";q=20;w=2, "daily";q=3;w=86400')
      expect(headers.ratelimit).toBe('"burst";r=19;t=1, "daily";r=1;t=86399')
      expect(headers).not.toHaveProperty('retry-after')
    })

    test('a denied one has them too, when to come back, and a problem as its body', async () => {
      const { ask, clock } = await serve({ rules: DAILY })
      for (let i = 0; i < 3; i++) await ask()
      clock.advance(400)
      const { status, headers, body } = await ask()
      expect(status).toBe(429)
      expect(headers['ratelimit-policy']).toBe('"daily";q=3;w=86400')
      expect(headers.ratelimit).toBe('"daily";r=0;t=86400')
      expect(headers['retry-after']).toBe('86400')
      expect(headers['content-type'].split(';')[0]).toBe('application/problem+json')
      expect(JSON.parse(body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Quota Exceeded',
        status: 429,
        detail: 'Try again in 86400 s.',
        'violated-policies': ['daily'],
      })
      clock.advance(86_399_600)
      expect((await ask()).status).toBe(200)
    })

    test.each([
      ['draft-7', { 'ratelimit-policy': '3;w=86400', ratelimit: 'limit=3, remaining=2, reset=86400' }],
      ['draft-6', { 'ratelimit-limit': '3', 'ratelimit-remaining': '2', 'ratelimit-reset': '86400' }],
      ['legacy', { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' }],
      [false, {}],
    ] as const)('in the style %s', async (headers, expected) => {
      const { ask } = await serve({ rules: DAILY, headers })
      const reply = await ask()
      expect(reply.headers).toMatchObject(expected)
      const isRateLimitField = (name: string): boolean => name.includes('ratelimit')
      if (headers === false) expect(Object.keys(reply.headers).filter(isRateLimitField)).toEqual([])
    })

    test('an error of the handler is answered by the framework', async () => {
      const { ask, errors } = await serve(
        { rules: DAILY },
        {
          handle: async () => {
            throw new Error('oops')
          },
        },
      )
      expect((await ask()).status).toBe(500)
      expect(errors).toMatchObject([{ message: 'oops' }])
    })
  })

  describe(`${framework.name}: connections`, () => {
    test('ten requests in one go under a limit of five: five pass, in order', async () => {
      const { port } = await serve({ rules: parseRule('5/minute') })
      const connection = await RawConnection.open(port)
      const replies = await connection.send(...times(10, () => ({})))
      connection.close()
      expect(statuses(replies)).toEqual([...times(5, () => 200), ...times(5, () => 429)])
      expect(replies.map(({ headers }) => headers.ratelimit.match(/r=(\d)/)?.[1]).join('')).toBe('4321000000')
    })

    test('a connection lives on after a denial', async () => {
      const { port, clock } = await serve({ rules: parseRule('1/minute') })
      const connection = await RawConnection.open(port)
      const first = await connection.send({}, { method: 'HEAD' })
      const denied = await connection.send({})
      clock.advance(60_000)
      const later = await connection.send({})
      connection.close()
      expect(statuses([...first, ...denied, ...later])).toEqual([200, 429, 429, 200])
    })

    test('1,000 requests under way under a limit of 100: exactly 100 pass', async () => {
      const { port } = await serve({ rules: parseRule('100/minute') })
      const connections = await Promise.all(times(50, () => RawConnection.open(port)))
      const replies = await Promise.all(connections.map((connection) => connection.send(...times(20, () => ({})))))
      for (const connection of connections) connection.close()
      const passed = replies.flat().filter(({ status }) => status === 200)
      expect(passed).toHaveLength(100)
      expect(new Set(passed.map(({ headers }) => headers.ratelimit)).size).toBe(100)
      expect(replies.flat().filter(({ status }) => status === 429)).toHaveLength(900)
    })

    test('HEAD and OPTIONS count as any other', async () => {
      const { ask } = await serve({ rules: DAILY })
      const head = await ask({ method: 'HEAD' })
      expect(head).toMatchObject({ status: 200, headers: { ratelimit: '"daily";r=2;t=86400' } })
      expect(await ask({ method: 'OPTIONS' })).toMatchObject({ headers: { ratelimit: '"daily";r=1;t=86400' } })
      await ask()
      expect(await ask({ method: 'HEAD' })).toMatchObject({ status: 429, headers: { 'retry-after': '86400' } })
    })

    test.runIf(framework.speaksHttp2)('HTTP/2: streams of one connection', async () => {
      const { port } = await serve({ rules: parseRule('5/minute') }, { http2: true })
      const client = connectHttp2(`http://127.0.0.1:${port}`)
      const replies = await Promise.all(
        times(8, async () => {
          const stream = client.request({ ':path': '/' })
          const [headers] = await once(stream, 'response')
          stream.resume()
          return headers
        }),
      )
      client.close()
      expect(replies.filter((headers) => headers[':status'] === 200)).toHaveLength(5)
      expect(replies.filter((headers) => headers[':status'] === 429)).toHaveLength(3)
      expect(replies[0].ratelimit).toMatch(/^"fixed-window:5\/1m";r=\d;t=60$/)
    })
  })

  describe(`${framework.name}: whom a request counts for`, () => {
    test('the address at the other end of the socket, whatever the request says', async () => {
      const { ask } = await serve({ rules: parseRule('2/minute') })
      const from = (address: string) => ask({ headers: { 'X-Forwarded-For': address } })
      expect(statuses([await from('1.1.1.1'), await from('2.2.2.2'), await from('3.3.3.3')])).toEqual([200, 200, 429])
    })

    test('behind a trusted proxy, the client; what it writes itself changes nothing', async () => {
      const { ask } = await serve({ rules: parseRule('1/minute'), address: { trustProxy: ['127.0.0.0/8'] } })
      const from = (list: string) => ask({ headers: { 'X-Forwarded-For': list } })
      expect(statuses([await from('203.0.113.9'), await from('6.6.6.6, 203.0.113.9'), await from('203.0.113.10')])).toEqual([
        200, 429, 200,
      ])
    })

    test('a proxy that nobody named is warned of, once', async () => {
      const warnings: string[] = []
      const { ask } = await serve({ rules: parseRule('9/minute'), address: {}, warn: ({ code }) => warnings.push(code) })
      for (let i = 0; i < 3; i++) await ask({ headers: { 'X-Forwarded-For': '203.0.113.9' } })
      expect(warnings).toEqual(['WARN_UNTRUSTED_PROXY'])
    })

    test('whom the key says, at once or later, and as much as the cost says', async () => {
      for (const isLater of [false, true]) {
        const soon = <T>(value: T) => (isLater ? new Promise<T>((resolve) => setImmediate(resolve, value)) : value)
        const { ask } = await serve({
          rules: parseRule('10/minute'),
          key: (request) => soon(framework.asked(request).header('x-user') ?? ''),
          cost: (request) => soon(Number(framework.asked(request).header('x-cost'))),
        })
        const spend = async (user: string, cost: number) =>
          (await ask({ headers: { 'X-User': user, 'X-Cost': `${cost}` } })).status
        expect([await spend('ada', 8), await spend('ada', 3), await spend('bob', 10), await spend('ada', 2)]).toEqual([
          200, 429, 200, 200,
        ])
      }
    })

    test('rules that depend on the request are plans, each with its own limit', async () => {
      const { ask } = await serve({
        rules: (request) =>
          fixedWindow({ limit: framework.asked(request).header('x-plan') === 'pro' ? 4 : 2, window: '1m', name: 'plan' }),
      })
      const on = async (plan: string) => (await ask({ headers: { 'X-Plan': plan } })).headers.ratelimit
      expect([await on('free'), await on('free'), await on('free'), await on('pro'), await on('pro')]).toEqual([
        '"plan";r=1;t=60',
        '"plan";r=0;t=60',
        '"plan";r=0;t=60',
        // Who changes plans keeps what was used, since the rule keeps its name.
        '"plan";r=1;t=60',
        '"plan";r=0;t=60',
      ])
    })

    test('skip, allow and block', async () => {
      const key = (request: unknown) => framework.asked(request).header('x-user') ?? 'nobody'
      const { ask } = await serve({
        rules: parseRule('1/minute'),
        key,
        skip: (request) => framework.asked(request).path === '/health',
        allow: { keys: ['root'] },
        block: { addresses: ['203.0.113.0/24'], keys: ['mallory'] },
        address: { trustProxy: 1 },
      })
      await ask()
      expect((await ask()).status).toBe(429)
      const skipped = await ask({ path: '/health' })
      expect(skipped.status).toBe(200)
      expect(skipped.headers).not.toHaveProperty('ratelimit')
      for (let i = 0; i < 3; i++) expect((await ask({ headers: { 'X-User': 'root' } })).status).toBe(200)
      const blocked = await ask({ headers: { 'X-User': 'mallory' } })
      expect(blocked.status).toBe(403)
      expect(JSON.parse(blocked.body)).toEqual({ type: 'about:blank', title: 'Forbidden', status: 403 })
      expect((await ask({ headers: { 'X-User': 'root', 'X-Forwarded-For': '203.0.113.7' } })).status).toBe(403)
    })

    test('two keys in one decision: if one limit denies, none is charged', async () => {
      const header = (name: string) => (request: unknown) => framework.asked(request).header(name) ?? ''
      const { ask } = await serve({
        limits: [
          { rules: fixedWindow({ limit: 4, window: '1m', name: 'address' }), key: header('x-address') },
          { rules: fixedWindow({ limit: 2, window: '1m', name: 'account' }), key: header('x-account') },
        ],
      })
      const login = (address: string, account: string) => ask({ headers: { 'X-Address': address, 'X-Account': account } })
      expect((await login('a', 'ada')).headers.ratelimit).toBe('"address";r=3;t=60, "account";r=1;t=60')
      await login('a', 'ada')
      const denied = await login('a', 'ada')
      expect(denied.status).toBe(429)
      expect(JSON.parse(denied.body)['violated-policies']).toEqual(['account'])
      expect((await login('a', 'bob')).headers.ratelimit).toBe('"address";r=1;t=60, "account";r=1;t=60')
    })

    test('a key that is none is an error, and nothing is counted', async () => {
      const { ask, errors } = await serve({ rules: DAILY, key: (request) => framework.asked(request).header('x-user') as string })
      expect((await ask()).status).toBe(500)
      expect(errors).toMatchObject([{ code: 'ERR_KEY' }])
    })
  })

  describe(`${framework.name}: several limiters`, () => {
    const outer: Options = { rules: fixedWindow({ limit: 9, window: '1h', name: 'outer' }) }
    const inner: Options = { rules: fixedWindow({ limit: 2, window: '1m', name: 'inner' }) }

    test('fields are added, not overwritten', async () => {
      const { ask } = await serve([outer, inner])
      const both = (ofOuter: string, ofInner: string) =>
        (framework.answersWithResponse ? [ofInner, ofOuter] : [ofOuter, ofInner]).join(', ')
      expect((await ask()).headers).toMatchObject({
        'ratelimit-policy': both('"outer";q=9;w=3600', '"inner";q=2;w=60'),
        ratelimit: both('"outer";r=8;t=3600', '"inner";r=1;t=60'),
      })
      await ask()
      const denied = await ask()
      expect(denied).toMatchObject({
        status: 429,
        headers: { ratelimit: both('"outer";r=6;t=3600', '"inner";r=0;t=60'), 'retry-after': '60' },
      })
    })

    test.each([
      ['the tighter one inside', [outer, inner]],
      ['the tighter one outside', [inner, outer]],
    ])('of fields with room for one, those of the tighter limiter stay: %s', async (_, limiters) => {
      const { ask } = await serve(limiters.map((options) => ({ ...options, headers: 'legacy' as const })))
      expect((await ask()).headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' })
      await ask()
      expect(await ask()).toMatchObject({ status: 429, headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' } })
    })

    test('one that is mounted twice counts once, and warns once', async () => {
      const warnings: string[] = []
      const clock = fakeClock()
      const limiter = createLimiter({ rules: DAILY, store: memoryStore({ clock }) })
      const options: Options = { limiter, warn: ({ code }) => warnings.push(code) }
      const { ask } = await serve([options, options])
      expect((await ask()).headers.ratelimit).toBe('"daily";r=2;t=86400')
      expect((await ask()).headers.ratelimit).toBe('"daily";r=1;t=86400')
      expect(statuses([await ask(), await ask()])).toEqual([200, 429])
      expect(warnings).toEqual(['WARN_MOUNTED_TWICE'])
      expect(limiter.get('127.0.0.1')).toBe(3)
    })
  })

  describe(`${framework.name}: what is charged`, () => {
    const left = ({ headers }: Reply): string | undefined => /r=(\d+)/.exec(headers.ratelimit)?.[1]

    test.each([
      ['failed-response', '4443', '/200', '/404'],
      ['successful-response', '4443', '/404', '/200'],
      [(status: number) => status === 401, '4443', '/403', '/401'],
    ] as const)('%s', async (charge, expected, free, charged) => {
      const { ask } = await serve({ rules: parseRule('5/minute'), charge }, { handle: statusInPath })
      const replies = [
        await ask({ path: free }),
        await ask({ path: free }),
        await ask({ path: charged }),
        await ask({ path: free }),
      ]
      expect(replies.map(left).join('')).toBe(expected)
      expect(statuses(replies)).toEqual([free, free, charged, free].map((path) => Number(path.slice(1))))
    })

    test('a handler that fails has made a failed response', async () => {
      const { ask } = await serve(
        { rules: parseRule('5/minute'), charge: 'successful-response' },
        {
          handle: async ({ path }) => {
            if (path === '/oops') throw new Error('oops')
            return { status: 200, body: 'hello' }
          },
        },
      )
      for (let i = 0; i < 3; i++) await ask({ path: '/oops' })
      expect(left(await ask())).toBe('4')
    })

    test('what is under way counts until it is known: no more than the limit at once', async () => {
      const gate = holdingHandler()
      const { port } = await serve({ rules: parseRule('5/minute'), charge: 'failed-response' }, gate)
      const connections = await Promise.all(times(8, () => RawConnection.open(port)))
      const replies = connections.map((connection) => connection.send({}))
      let denied = 0
      for (const reply of replies) reply.then(([{ status }]) => (denied += Number(status === 429)))
      await gate.holds(5)
      while (denied < 3) await new Promise(setImmediate)
      gate.release()
      expect(statuses((await Promise.all(replies)).flat()).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
      expect(left(await ask(port))).toBe('4')
      for (const connection of connections) connection.close()
    })

    test('who goes away before there is an answer is charged', async () => {
      const gate = holdingHandler()
      const limiter = createLimiter({ rules: parseRule('5/minute') })
      const { port, ask } = await serve({ limiter, charge: 'failed-response' }, gate)
      const connection = await RawConnection.open(port)
      connection.write({})
      await gate.holds(1)
      connection.abort()
      // The server has seen it go once it has seen what came later.
      for (let i = 0; i < 3; i++) await ask({ path: '/free' })
      gate.release()
      await gate.done(4)
      expect(limiter.get('127.0.0.1')).toBe(1)
    })
  })

  describe(`${framework.name}: what somebody else has to say`, () => {
    test('onDenied hears of a denial and changes the answer', async () => {
      const heard: unknown[] = []
      const { ask } = await serve({
        rules: DAILY,
        key: (request) => framework.asked(request).header('x-user') ?? '',
        onDenied: ({ request, key, decision, denial }) => {
          heard.push([framework.asked(request).path, key, decision?.rule])
          return { status: 420, headers: { 'content-type': 'text/plain' }, body: `${denial.headers['Retry-After']} s` }
        },
      })
      const request = { path: '/x', headers: { 'X-User': 'ada' } }
      for (let i = 0; i < 3; i++) await ask(request)
      const { status, headers, body } = await ask(request)
      expect({ status, body }).toEqual({ status: 420, body: '86400 s' })
      expect(headers['content-type'].split(';')[0]).toBe('text/plain')
      expect(headers['retry-after']).toBe('86400')
      expect(heard).toEqual([['/x', 'ada', 'daily']])
    })

    test('what onDenied throws goes to the error handling', async () => {
      const { ask, errors } = await serve({
        rules: parseRule('1/minute'),
        onDenied: () => {
          throw new Error('too many')
        },
      })
      expect(statuses([await ask(), await ask()])).toEqual([200, 500])
      expect(errors).toMatchObject([{ message: 'too many' }])
    })

    test('shadow mode counts and reports, and lets everybody through without a word', async () => {
      const reported: unknown[] = []
      const decided: boolean[] = []
      const { ask } = await serve({
        rules: DAILY,
        mode: 'shadow',
        block: { keys: ['mallory'] },
        key: (request) => framework.asked(request).header('x-user') ?? 'ada',
        onDecision: ({ decision }) => decided.push(decision.allowed),
        onShadowDenied: ({ key, decision }) => reported.push([key, decision?.retryAfterMs]),
      })
      const replies = [await ask(), await ask(), await ask(), await ask(), await ask({ headers: { 'X-User': 'mallory' } })]
      expect(statuses(replies)).toEqual([200, 200, 200, 200, 200])
      for (const { headers } of replies) expect(headers).not.toHaveProperty('ratelimit')
      expect(decided).toEqual([true, true, true, false])
      expect(reported).toEqual([
        ['ada', 86_400_000],
        ['mallory', undefined],
      ])
    })
  })

  describe(`${framework.name}: a store that stops answering while a request waits`, () => {
    let redis: RedisServer
    let proxy: TcpProxy
    let client: Redis
    beforeAll(async () => {
      redis = await startRedis()
    })
    beforeEach(async () => {
      proxy = await startProxy(redis.port)
      client = new Redis({ port: proxy.port, host: '127.0.0.1' })
      client.on('error', () => {})
      await client.flushall()
    })
    afterEach(async () => {
      client.disconnect()
      await proxy.stop()
    })
    afterAll(() => redis.stop())

    /** One answer while the store is there, and three after it has stopped. */
    async function outage(options: Options) {
      const { ask, errors } = await serve({ store: redisStore(client), rules: parseRule('2/minute'), ...options })
      const before = await ask()
      expect(before).toMatchObject({ status: 200, headers: { ratelimit: '"fixed-window:2/1m";r=1;t=60' } })
      proxy.weather = { loseDown: true }
      return { after: [await ask(), await ask(), await ask()], errors }
    }

    const failure = { timeoutMs: 100, failures: 1, probeEveryMs: 5000 } as const

    test("then 'throw': the error goes to the framework", async () => {
      const { after, errors } = await outage({ failure: { ...failure, then: 'throw' } })
      expect(statuses(after)).toEqual([500, 500, 500])
      expect(errors).toMatchObject([{ code: 'ERR_STORE_UNKNOWN' }, { code: 'ERR_STORE_REFUSED' }, { code: 'ERR_STORE_REFUSED' }])
    })

    test("then 'allow': requests pass", async () => {
      const { after } = await outage({ failure: { ...failure, then: 'allow' } })
      expect(statuses(after)).toEqual([200, 200, 200])
    })

    test("then 'deny': it is the server that lacks something, not the client", async () => {
      const { after } = await outage({ failure: { ...failure, then: 'deny' } })
      expect(statuses(after)).toEqual([503, 503, 503])
      expect(JSON.parse(after[0].body).type).toBe('https://iana.org/assignments/http-problem-types#temporary-reduced-capacity')
      expect(after[0].headers).toMatchObject({ 'retry-after': '5' })
      expect(after[0].headers).not.toHaveProperty('ratelimit')
    })

    test("then 'local': this process counts", async () => {
      const { after } = await outage({ failure: { ...failure, then: 'local' } })
      expect(statuses(after)).toEqual([200, 200, 429])
    })

    test('in shadow mode it is nobody’s problem', async () => {
      const { ask } = await serve({
        store: redisStore(client),
        rules: parseRule('2/minute'),
        failure: { ...failure, then: 'throw' },
        mode: 'shadow',
        onShadowDenied: () => {},
      })
      proxy.weather = { loseDown: true }
      expect((await ask()).status).toBe(200)
    })
  })
}

/** A handler that keeps requests until they are released, but those for `/free`. */
function holdingHandler() {
  const waiting: (() => void)[] = []
  let finished = 0
  let isOpen = false
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise(setImmediate)
  }
  return {
    async handle({ path }: Asked) {
      if (!isOpen && path !== '/free') await new Promise<void>((resolve) => waiting.push(resolve))
      finished += 1
      return { status: 200, body: 'at last' }
    },
    holds: (count: number) => until(() => waiting.length >= count),
    async done(count: number) {
      await until(() => finished >= count)
      // And what happens then.
      for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    },
    release() {
      isOpen = true
      for (const resolve of waiting.splice(0)) resolve()
    },
  }
}
