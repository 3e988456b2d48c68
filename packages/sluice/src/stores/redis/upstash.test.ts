// Upstash's REST API, through fetch and through @upstash/redis, on a front before a real Redis.

import { Redis as Upstash } from '@upstash/redis'
import { Redis as UpstashOnCloudflare } from '@upstash/redis/cloudflare'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { startUpstashFront } from '../../../../../test/servers/upstash-front.mjs'
import { beforeTests, freshPrefix, patientLimiter, realRedis } from '../../../test/redis/real-redis.ts'
import type { Call, Operation } from '../../core/call.ts'
import { createLimiter, fixedWindow } from '../../index.ts'
import { connectionOf, type RedisClient } from './redis-client.ts'
import { redisStore } from './redis-store.ts'
import { fetchError } from './upstash-errors.ts'

const server = realRedis()
const front = beforeTests(
  () => startUpstashFront(server.it.port),
  (it) => it.end(),
)

const hundred = fixedWindow({ limit: 100, window: '1h' })

function onAda(operation: Operation): Call {
  return { operation, charges: [{ rule: 0, key: 'ada', amount: 1 }] }
}

const rest = (more: object = {}) => ({ url: front.it.url, token: front.it.token, ...more })
const upstash = (more: object = {}) => new Upstash({ ...rest(), ...more })

const CLIENTS: Readonly<Record<string, () => RedisClient>> = {
  'url and token': rest,
  '@upstash/redis': upstash,
  '@upstash/redis that sends once': () => upstash({ retry: { retries: 0 } }),
  '@upstash/redis without pipelining, encoding and deserialisation': () =>
    upstash({ enableAutoPipelining: false, responseEncoding: false, automaticDeserialization: false }),
  '@upstash/redis/cloudflare': () => new UpstashOnCloudflare(rest()),
}

describe.each(Object.entries(CLIENTS))('%s', (_, connect) => {
  test('the calls of a turn are one request and one command', async () => {
    const limiter = patientLimiter(hundred, redisStore(connect(), { prefix: freshPrefix() }))
    await limiter.hit('warm-up')
    await server.it.cli('CONFIG', 'RESETSTAT')
    front.it.requests.length = 0
    const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.hit('ada')))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 50 }, (_, i) => 99 - i))
    expect(front.it.requests).toEqual(['/'])
    expect(await server.it.cli('INFO', 'commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
  })

  test('a request of many long names is sent as one', async () => {
    const limiter = patientLimiter(hundred, redisStore(connect(), { prefix: freshPrefix(), batch: 1024 }))
    await limiter.hit('warm-up')
    front.it.requests.length = 0
    const keys = Array.from({ length: 1024 }, (_, i) => `${i}`.padEnd(128, '{'))
    const decisions = await Promise.all(keys.map((key) => limiter.hit(key)))
    expect(decisions.every(({ remaining }) => remaining === 99)).toBe(true)
    expect(front.it.requests).toEqual(['/'])
  })

  test('callers that call again when they get their answers still share one command, because commands are billed', async () => {
    const limiter = patientLimiter(hundred, redisStore(connect(), { prefix: freshPrefix() }))
    await limiter.hit('ada')
    front.it.requests.length = 0
    const hitTwice = async () => {
      await limiter.hit('ada')
      await limiter.hit('ada')
    }
    await Promise.all(Array.from({ length: 16 }, hitTwice))
    expect(front.it.requests).toHaveLength(2)
  })

  test('a program that Redis has lost is sent again, and the calls count once', async () => {
    const limiter = patientLimiter(hundred, redisStore(connect(), { prefix: freshPrefix() }))
    await limiter.hit('ada')
    await server.it.cli('SCRIPT', 'FLUSH')
    expect(await limiter.hit('ada')).toMatchObject({ remaining: 98 })
  })

  test('states are counted', async () => {
    const store = redisStore(connect(), { prefix: freshPrefix() })
    const limiter = patientLimiter(hundred, store)
    for (const key of ['ada', '{é😀}', '42']) await limiter.hit(key)
    expect(await store.size).toBe(3)
  })

  test('an error of one call leaves the others alone', async () => {
    const prefix = freshPrefix()
    const tally = redisStore(connect(), { prefix }).tally([hundred])
    await tally.ask(onAda('hit'))
    const [name] = (await server.it.cli('KEYS', `${prefix}:1:*`)).split('\n')
    await server.it.cli('DEL', name)
    await server.it.cli('RPUSH', name, 'other')
    const other: Call = { operation: 'hit', charges: [{ rule: 0, key: 'bob', amount: 1 }] }
    const [ada, bob] = await Promise.allSettled([tally.ask(onAda('hit')), tally.ask(other)])
    expect(ada).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_FATAL' } })
    expect(bob).toMatchObject({ status: 'fulfilled' })
  })

  test('an answer that is lost after the command was executed counts once, and is unknown', async () => {
    const limiter = patientLimiter(hundred, redisStore(connect(), { prefix: freshPrefix() }))
    // The first answer is that to the program itself. After a lost answer the next request has a new connection, and after a hit
    // it has one that was used before.
    for (const [index, fate] of (['lost', 'lost', 'cut', 'lost'] as const).entries()) {
      if (index === 2) await limiter.hit('other')
      front.it.fates = [fate]
      await expect(limiter.hit('ada'), fate).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    }
    expect(await limiter.get('ada')).toBe(4)
  })

  test('a wrong token is fatal, and no error shows it', async () => {
    const { token } = front.it
    onTestFinished(() => {
      front.it.token = token
    })
    const tally = redisStore(connect(), { prefix: freshPrefix() }).tally([hundred])
    front.it.token = 'another'
    const error: unknown = await tally.ask(onAda('hit')).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'ERR_STORE_FATAL', message: expect.stringContaining('WRONGPASS') })
    expect(textOf(error)).not.toContain(token)
  })

  test.each([
    ['ERR_STORE_REFUSED', 'READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    ['ERR_STORE_FATAL', 'NOPERM', ['ACL', 'SETUSER', 'default', '-evalsha'], ['ACL', 'SETUSER', 'default', '+evalsha']],
  ])('%s: %s, as with the other clients', async (code, word, cause, remedy) => {
    const connected = connect()
    const tally = redisStore(connected, { prefix: freshPrefix() }).tally([hundred])
    await tally.ask(onAda('hit'))
    await server.it.cli(...cause)
    onTestFinished(async () => {
      await server.it.cli(...remedy)
    })
    // A client that resends may have lost the answer to an earlier request.
    const isCertain = code === 'ERR_STORE_FATAL' || !connectionOf(connected).resends
    const error: unknown = await tally.ask(onAda('hit')).catch((reason) => reason)
    expect(error).toMatchObject({ code: isCertain ? code : 'ERR_STORE_UNKNOWN', message: expect.stringContaining(word) })
    expect((error as Error).message.length).toBeLessThan(400)
  })
})

/** Everything that a logger could print about an error. */
function textOf(error: unknown): string {
  const { message, stack, cause } = error as Error
  return JSON.stringify([error, message, stack]) + (cause === undefined ? '' : textOf(cause))
}

describe('a client that resends', () => {
  test.each([
    ['by default', {}, true],
    // The client sends such a request twice.
    ['with retry: false', { retry: false }, true],
    ['with retries: 1', { retry: { retries: 1 } }, true],
    ['with retries: 0', { retry: { retries: 0 } }, false],
  ])('%s', (_, options, resends) => {
    expect(connectionOf(upstash(options))).toMatchObject({ resends, isCluster: false, keyPrefix: '' })
  })

  test('a requester of the user’s own may resend', () => {
    const own = new Upstash({ request: async () => ({ result: 'OK' as never }) })
    expect(connectionOf(own)).toMatchObject({ resends: true })
  })

  test('a request that it sends several times counts once', async () => {
    const client = upstash({ retry: { retries: 3, backoff: () => 1 } })
    const limiter = patientLimiter(hundred, redisStore(client, { prefix: freshPrefix() }))
    await limiter.hit('warm-up')
    front.it.requests.length = 0
    front.it.fates = ['lost', 'lost', 'lost']
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_UNKNOWN',
      message: expect.stringContaining('sent before'),
    })
    expect(front.it.requests).toHaveLength(4)
    expect(await limiter.get('ada')).toBe(1)
  })

  test('a request that is sent again before it was executed is answered', async () => {
    const client = upstash({ retry: { retries: 1, backoff: () => 1 } })
    const limiter = patientLimiter(hundred, redisStore(client, { prefix: freshPrefix() }))
    await limiter.hit('ada')
    front.it.fates = ['dropped']
    expect(await limiter.hit('ada')).toMatchObject({ remaining: 98 })
  })

  test('a refusal after a lost answer is unknown, so that nobody repeats the call', async () => {
    const own = await startUpstashFront(server.it.port)
    onTestFinished(() => own.end())
    const client = new Upstash({ url: own.url, token: own.token, retry: { retries: 1, backoff: () => 1000 } })
    const limiter = patientLimiter(hundred, redisStore(client, { prefix: freshPrefix() }))
    await limiter.hit('ada')
    own.fates = ['lost']
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    await expect.poll(() => own.requests.length).toBe(2)
    await own.stop()
    await expect(hit).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN', message: expect.stringContaining('ECONNREFUSED') })
    await own.start()
    expect(await limiter.get('ada')).toBe(2)
  })
})

describe('over fetch', () => {
  const tallyOf = (more: object = {}) => redisStore(rest(more), { prefix: freshPrefix() }).tally([hundred])
  const page = '<html>bad gateway</html>'

  test.each([
    ['ERR_STORE_REFUSED', 429, '{"error":"slow down"}', /too many requests: slow down$/],
    ['ERR_STORE_REFUSED', 429, page, /too many requests$/],
    ['ERR_STORE_REFUSED', 400, '{"error":"ERR max daily request limit exceeded. Limit: 10000, Usage: 10000."}', /max daily/],
    ['ERR_STORE_REFUSED', 400, '{"error":"ERR max requests limit exceeded. Limit: 1, Usage: 1."}', /max requests/],
    ['ERR_STORE_REFUSED', 500, '{"error":"LOADING Redis is loading the dataset in memory"}', /LOADING/],
    ['ERR_STORE_FATAL', 401, '{"error":"Unauthorized"}', /does not accept the token: Unauthorized$/],
    ['ERR_STORE_FATAL', 401, page, /does not accept the token$/],
    ['ERR_STORE_FATAL', 200, '{"error":"WRONGPASS invalid or missing auth token"}', /WRONGPASS/],
    ['ERR_STORE_FATAL', 400, '{"error":"ERR max request size exceeded. Limit: 1, Actual: 2"}', /max request size/],
    ['ERR_STORE_FATAL', 403, page, /does not allow/],
    ['ERR_STORE_FATAL', 404, page, /no REST API/],
    ['ERR_STORE_FATAL', 405, page, /no REST API/],
    ['ERR_STORE_FATAL', 413, page, /too large/],
    ['ERR_STORE_FATAL', 307, page, /redirects/],
    ['ERR_STORE_UNKNOWN', 500, page, /status 500 and no result/],
    ['ERR_STORE_UNKNOWN', 502, page, /status 502/],
    ['ERR_STORE_UNKNOWN', 503, '{"error":"upstream reset"}', /upstream reset/],
    ['ERR_STORE_UNKNOWN', 504, '', /status 504/],
    ['ERR_STORE_UNKNOWN', 400, page, /status 400/],
    ['ERR_STORE_UNKNOWN', 200, page, /status 200/],
    ['ERR_STORE_UNKNOWN', 200, 'null', /status 200/],
    ['ERR_STORE_UNKNOWN', 200, '{}', /status 200/],
    ['ERR_STORE_UNKNOWN', 200, '{"result":"{}"}', /figures where/],
    ['ERR_STORE_UNKNOWN', 200, '{"result":[1,2]}', /counted/],
  ])('%s: status %i %s', async (code, status, text, message) => {
    front.it.requests.length = 0
    front.it.fates = [{ status, text, headers: { Location: `${front.it.url}/elsewhere` } }]
    await expect(tallyOf().ask(onAda('hit'))).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(front.it.requests).toEqual(['/'])
  })

  test('an answer that is too large is not read to its end', async () => {
    front.it.fates = [{ status: 200, text: JSON.stringify({ result: 'x'.repeat(5 * 1024 * 1024) }) }]
    await expect(tallyOf().ask(onAda('hit'))).rejects.toMatchObject({
      code: 'ERR_STORE_UNKNOWN',
      message: expect.stringContaining('more than 4194304 bytes'),
    })
  })

  test('a request without an answer ends after timeoutMs, and has counted', async () => {
    const tally = tallyOf({ timeoutMs: 200 })
    await tally.ask(onAda('hit'))
    front.it.fates = ['silent']
    const startMs = performance.now()
    await expect(tally.ask(onAda('hit'))).rejects.toMatchObject({
      code: 'ERR_STORE_UNKNOWN',
      message: expect.stringContaining('timeout'),
    })
    expect(performance.now() - startMs).toBeLessThan(5000)
    expect(await tally.ask(onAda('get'))).toEqual([2])
  })

  test('a front that nobody listens at refuses, and the call is answered when it is back', async () => {
    const own = await startUpstashFront(server.it.port)
    onTestFinished(() => own.end())
    const prefix = freshPrefix()
    const client = { url: `${own.url}/`, token: own.token }
    const tally = redisStore(client, { prefix }).tally([hundred])
    await own.stop()
    await expect(tally.ask(onAda('hit'))).rejects.toMatchObject({
      code: 'ERR_STORE_REFUSED',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    const hit = patientLimiter(hundred, redisStore(client, { prefix })).hit('ada')
    await own.start()
    expect(await hit).toMatchObject({ remaining: 99, source: 'store' })
  })

  test('a host without an address refuses', async () => {
    const store = redisStore({ url: 'https://no-such-host.invalid', token: 'secret' })
    const limiter = createLimiter({ rules: hundred, store, failure: { timeoutMs: 200, then: 'allow' } })
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, source: 'fallback' })
  })

  test('the token is not shown, even if the front sends it back', async () => {
    const { token } = front.it
    for (const status of [400, 401, 403, 429, 500]) {
      front.it.fates = [{ status, text: JSON.stringify({ error: `bad header: Bearer ${token}` }) }]
      const error: unknown = await tallyOf()
        .ask(onAda('hit'))
        .catch((reason) => reason)
      expect((error as Error).message).toContain('bad header: Bearer (token)')
      expect(textOf(error)).not.toContain(token)
    }
  })

  test('a token that is a digit does not change the answers', async () => {
    const { token } = front.it
    onTestFinished(() => {
      front.it.token = token
    })
    front.it.token = '9'
    expect(await patientLimiter(hundred, redisStore(rest(), { prefix: freshPrefix() })).hit('ada')).toMatchObject({
      remaining: 99,
    })
  })
})

describe('an address or token that cannot work is refused, and not shown', () => {
  const url = 'https://name.upstash.io'
  const token = 'very-secret'
  test.each([
    ['url', { token }],
    ['url', { url: undefined, token }],
    ['url', { url: '', token }],
    ['url', { url: 'very-secret', token: url }],
    ['url', { url: 'name.upstash.io', token }],
    ['url', { url: 'rediss://default:very-secret@name.upstash.io:6379', token }],
    ['url', { url: 'https://default:very-secret@name.upstash.io', token }],
    ['url', { url: `${url}/?_token=very-secret`, token }],
    ['url', { url: `${url}/#very-secret`, token }],
    ['url', { url: new URL(url), token }],
    ['token', { url }],
    ['token', { url, token: undefined }],
    ['token', { url, token: '' }],
    ['token', { url, token: 'very secret' }],
    ['token', { url, token: 'very-secret\n' }],
    ['token', { url, token: 'very-secrét' }],
    ['token', { url, token: 'very-secret'.repeat(1000) }],
    ['token', { url, token: 42 }],
    ['timeoutMs', { url, token, timeoutMs: 0 }],
    ['timeoutMs', { url, token, timeoutMs: 2 ** 31 }],
    ['timeoutMs', { url, token, timeoutMs: '5s' }],
    ['timeoutMS', { url, token, timeoutMS: 10 }],
  ])('%s: %o', (option, client) => {
    const error = caught(() => redisStore(client as unknown as RedisClient))
    expect(error).toMatchObject({ code: 'ERR_OPTION', option })
    expect(textOf(error)).not.toMatch(/very.secr/)
  })

  test('a good one is accepted, with a path of its own too', () => {
    for (const good of [url, `${url}/`, 'http://localhost:8079', 'https://proxy.example/redis/']) {
      expect(connectionOf({ url: good, token })).toMatchObject({ resends: false, isCluster: false })
    }
  })
})

function caught(body: () => unknown): unknown {
  try {
    body()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test.each([
  [
    'ERR_STORE_REFUSED',
    Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(''), { code: 'ECONNREFUSED' }) }),
  ],
  ['ERR_STORE_REFUSED', Object.assign(new TypeError('fetch failed'), { cause: { code: 'UND_ERR_CONNECT_TIMEOUT' } })],
  ['ERR_STORE_REFUSED', Object.assign(new Error('Unable to connect.'), { code: 'ConnectionRefused' })],
  [
    'ERR_STORE_UNKNOWN',
    Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('read'), { code: 'ECONNRESET' }) }),
  ],
  ['ERR_STORE_UNKNOWN', new Error('Network connection lost.')],
  ['ERR_STORE_UNKNOWN', 'text'],
  ['ERR_STORE_UNKNOWN', undefined],
])('%s: a fetch that failed with %o', (code, thrown) => {
  expect(fetchError(thrown)).toMatchObject({ code, cause: thrown })
})

test('clients of Upstash are accepted without an adapter', () => {
  expectTypeOf<Upstash>().toExtend<RedisClient>()
  expectTypeOf<UpstashOnCloudflare>().toExtend<RedisClient>()
  expectTypeOf<{ url: string; token: string }>().toExtend<RedisClient>()
  expectTypeOf<{ url: string }>().not.toExtend<RedisClient>()
})
