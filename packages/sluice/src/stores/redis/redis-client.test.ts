import { createClient, createClientPool, createCluster, createSentinel, RESP_TYPES } from '@redis/client'
import type { GlideClient, GlideClusterClient } from '@valkey/valkey-glide'
import { Cluster, Redis } from 'ioredis'
import * as iovalkey from 'iovalkey'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { beforeTests, freshPrefix, patientLimiter, realCluster, realRedis } from '../../../test/redis/real-redis.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import type { Call, Operation } from '../../core/call.ts'
import { createLimiter, fixedWindow, type Rule } from '../../index.ts'
import type { BunRedisClient } from './bun-client.ts'
import { connectionOf, type RedisClient } from './redis-client.ts'
import { redisStore } from './redis-store.ts'

const host = '127.0.0.1'
const server = realRedis()
const five = fixedWindow({ limit: 5, window: '1m' })

function onAda(operation: Operation): Call {
  return { operation, charges: [{ rule: 0, key: 'ada', amount: 1 }] }
}

test('clients are accepted without an adapter, and nothing else is', () => {
  expectTypeOf<Redis>().toExtend<RedisClient>()
  expectTypeOf<Cluster>().toExtend<RedisClient>()
  expectTypeOf<iovalkey.Redis>().toExtend<RedisClient>()
  expectTypeOf<iovalkey.Cluster>().toExtend<RedisClient>()
  expectTypeOf(() => createClient({ RESP: 3 })).returns.toExtend<RedisClient>()
  expectTypeOf(() => createClientPool()).returns.toExtend<RedisClient>()
  expectTypeOf(() => createCluster({ rootNodes: [] })).returns.toExtend<RedisClient>()
  expectTypeOf(() => createSentinel({ name: '', sentinelRootNodes: [] })).returns.toExtend<RedisClient>()
  expectTypeOf<GlideClient>().toExtend<RedisClient>()
  expectTypeOf<GlideClusterClient>().toExtend<RedisClient>()
  expectTypeOf<(key: string, command: readonly string[]) => Promise<unknown>>().toExtend<RedisClient>()
  expectTypeOf<string>().not.toExtend<RedisClient>()
  expectTypeOf<object>().not.toExtend<RedisClient>()
  expectTypeOf<undefined>().not.toExtend<RedisClient>()
  expectTypeOf<Promise<Redis>>().not.toExtend<RedisClient>()
})

/** As much of `Bun.RedisClient` as the store uses, through ioredis. `npm run test:bun` has the real one. */
function bunClient(connect: () => Promise<void> = async () => {}): BunRedisClient & { connected: boolean } {
  return { connected: false, connect, send: (command, args) => redis.it.call(command, args) }
}

const redis = beforeTests(
  async () => new Redis(server.it.port),
  (client) => client.disconnect(),
)

test('a function that forgets to return the promise is called once for a call, and the call is unknown', async () => {
  let commands = 0
  const forgetful = (() => {
    commands += 1
  }) as unknown as RedisClient
  const limiter = createLimiter({ rules: five, store: redisStore(forgetful), failure: { timeoutMs: 100 } })
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  expect(commands).toBe(1)
})

describe('the kind of a client is recognised', () => {
  const lazy = { lazyConnect: true } as const
  const sentinels = [{ host, port: 1 }]
  test.each<[string, RedisClient, object]>([
    ['ioredis', new Redis(lazy), { isCluster: false, resends: false, keyPrefix: '' }],
    ['ioredis with a prefix', new Redis({ ...lazy, keyPrefix: 'app:' }), { keyPrefix: 'app:' }],
    ['ioredis with pipelines of its own', new Redis({ ...lazy, enableAutoPipelining: true }), { resends: true }],
    ['ioredis that does not resend', new Redis({ ...lazy, autoResendUnfulfilledCommands: false }), { resends: false }],
    ['ioredis with a Sentinel', new Redis({ ...lazy, sentinels, name: 'main' }), { isCluster: false, resends: false }],
    ['an ioredis cluster', new Cluster(sentinels, lazy), { isCluster: true, resends: true }],
    ['iovalkey', new iovalkey.Redis(lazy), { isCluster: false, resends: false }],
    ['an iovalkey cluster', new iovalkey.Cluster(sentinels, lazy), { isCluster: true, resends: true }],
    ['node-redis', createClient(), { isCluster: false, resends: false }],
    ['a pool of node-redis', createClientPool(), { isCluster: false, resends: false }],
    ['a node-redis cluster', createCluster({ rootNodes: [] }), { isCluster: true, resends: false }],
    [
      'node-redis with a Sentinel',
      createSentinel({ name: 'main', sentinelRootNodes: sentinels }),
      { isCluster: false, resends: true },
    ],
    ["Bun's client", bunClient(), { isCluster: false, resends: false, keyPrefix: '' }],
    ['a function', async () => {}, { isCluster: false, resends: false }],
    [
      'a function that says so',
      Object.assign(async () => {}, { isCluster: true, resends: true }),
      { isCluster: true, resends: true },
    ],
  ])('%s', (_, client, expected) => {
    expect(connectionOf(client)).toMatchObject(expected)
  })
})

describe('the error about a value that is not a client shows the value', () => {
  test.each([
    [42, /got 42$/],
    [undefined, /got undefined$/],
    [null, /got null$/],
    ['redis://localhost', /got "redis:\/\/localhost"$/],
    [{}, /got an object$/],
    [[], /got an array$/],
    [{ host, port: 6379 }, /got an object$/],
    [Promise.resolve(), /got a promise: await it$/],
  ])('%o', (client, message) => {
    expect(() => redisStore(client as unknown as RedisClient)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringMatching(message) }),
    )
    expect(() => redisStore(client as unknown as RedisClient)).toThrow(
      "redisStore takes a client of ioredis, iovalkey, node-redis, valkey-glide, Bun or @upstash/redis, { url, token } of Upstash's REST API",
    )
  })

  test('and so are options and rules that cannot work', () => {
    const client = new Redis({ lazyConnect: true })
    for (const options of [{ prefx: 'a' }, { prefix: '' }, { batch: 0 }, null] as object[]) {
      expect(() => redisStore(client, options), JSON.stringify(options)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    }
    const unknown: Rule = Object.create(five, { algorithm: { value: 'coin-toss' } })
    expect(() => createLimiter({ rules: unknown, store: redisStore(client) })).toThrow(
      expect.objectContaining({ code: 'ERR_RULE', message: expect.stringContaining('"coin-toss"') }),
    )
  })
})

describe('the first hit', () => {
  const cluster = realCluster()
  const nodes = () => [{ host, port: cluster.it.nodes[0].port }]
  const single = () => ({ host, port: server.it.port })

  test.each<[string, () => RedisClient & { disconnect(): unknown }]>([
    ['ioredis', () => new Redis(single())],
    ['ioredis that connects when it is used', () => new Redis({ ...single(), lazyConnect: true })],
    ['iovalkey', () => new iovalkey.Redis(single())],
    ['an ioredis cluster', () => new Cluster(nodes())],
    ['an ioredis cluster that connects when it is used', () => new Cluster(nodes(), { lazyConnect: true })],
    ['an iovalkey cluster', () => new iovalkey.Cluster(nodes())],
  ])('needs no waiting for the connection: %s', async (_, makeClient) => {
    const client = makeClient()
    onTestFinished(() => client.disconnect() as undefined)
    const limiter = patientLimiter(five, redisStore(client, { prefix: freshPrefix() }))
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 4, source: 'store' })
  })

  test('works before node-redis has connected, once it is connecting', async () => {
    const client = createClient({ socket: single() })
    onTestFinished(() => client.destroy())
    const prefix = freshPrefix()
    const limiter = createLimiter({ rules: five, store: redisStore(client, { prefix }), failure: { timeoutMs: 50 } })
    await expect(limiter.hit('ada')).rejects.toMatchObject({
      code: 'ERR_STORE_REFUSED',
      message: 'the client is not connected to Redis',
    })
    const patient = patientLimiter(five, redisStore(client, { prefix }))
    const hit = patient.hit('ada')
    await client.connect()
    // Calls that were refused were not kept for later.
    expect(await hit).toMatchObject({ allowed: true, remaining: 4 })
  })
})

describe("Bun's client", () => {
  test('is connected by the first call, and by one attempt at a time', async () => {
    let attempts = 0
    const client = bunClient(async () => {
      attempts += 1
      await new Promise((resolve) => setTimeout(resolve, 50))
      if (attempts < 3) throw new Error('Connection closed')
      client.connected = true
    })
    const limiter = patientLimiter(five, redisStore(client, { prefix: freshPrefix() }))
    const hits = await Promise.all([limiter.hit('ada'), limiter.hit('ada')])
    expect(hits.map(({ remaining }) => remaining)).toEqual([4, 3])
    expect(attempts).toBe(3)
  })

  test('gets no command while it is not connected', async () => {
    const client = bunClient()
    let sent = 0
    const counting = { ...client, send: async () => ++sent }
    const tally = redisStore(counting, { prefix: freshPrefix() }).tally([five])
    await expect(tally.ask(onAda('hit'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(sent).toBe(0)
  })
})

test('a client has one listener for errors, however many stores it has', () => {
  const client = new Redis({ lazyConnect: true })
  for (let store = 0; store < 20; store++) redisStore(client)
  expect(client.listenerCount('error')).toBe(1)
})

describe('a client that hands out numbers as texts', () => {
  const textual = {
    ioredis: async () => new Redis(server.it.port, { stringNumbers: true }),
    'node-redis': () =>
      createClient({
        socket: { host, port: server.it.port },
        commandOptions: { typeMapping: { [RESP_TYPES.NUMBER]: String } },
      }).connect(),
  }
  test.each(Object.entries(textual))('%s', async (_, connect) => {
    const client = await connect()
    onTestFinished(() => (client instanceof Redis ? client.disconnect() : client.destroy()))
    const limiter = patientLimiter([five, parseRule('3/second')], redisStore(client, { prefix: freshPrefix() }))
    expect(await limiter.hit('ada', { cost: 2 })).toMatchObject({ allowed: true, remaining: 1 })
    expect(await limiter.hit('ada', { cost: 4 })).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY })
    expect(await limiter.get('ada')).toBe(2)
  })
})

describe('refusals of a server are sorted correctly', () => {
  const refusing = realRedis()
  const clients = Object.entries(SINGLE).map(([name, connect]) => [name, clientFor(connect, () => refusing.it.port)] as const)

  test.each([
    ['ERR_STORE_REFUSED', 'READONLY', ['REPLICAOF', host, '1'], ['REPLICAOF', 'NO', 'ONE']],
    ['ERR_STORE_REFUSED', 'OOM', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
    [
      'ERR_STORE_REFUSED',
      'NOREPLICAS',
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    ],
    ['ERR_STORE_FATAL', 'NOPERM', ['ACL', 'SETUSER', 'default', '-evalsha'], ['ACL', 'SETUSER', 'default', '+evalsha']],
    ['ERR_STORE_FATAL', 'run', ['ACL', 'SETUSER', 'default', '-set'], ['ACL', 'SETUSER', 'default', '+set']],
  ])('%s: %s', async (code, word, cause, remedy) => {
    const tallies = clients.map(
      ([name, { it }]) => [name, redisStore(it.client, { prefix: freshPrefix() }).tally([five])] as const,
    )
    const warm = { operation: 'hit', charges: [{ rule: 0, key: 'warm', amount: 1 }] } as const
    for (const [, tally] of tallies) await tally.ask(warm)
    await refusing.it.cli(...cause)
    for (const [name, tally] of tallies) {
      const refused = tally.ask(onAda('hit'))
      await expect(refused, name).rejects.toMatchObject({ code, message: expect.stringContaining(word) })
    }
    await refusing.it.cli(...remedy)
    for (const [name, tally] of tallies) expect((await tally.ask(onAda('hit')))[0], name).toBe(1)
  })
})
