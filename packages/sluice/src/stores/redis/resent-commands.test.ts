// Some clients send a command again when the connection is lost before its answer came. It may have been executed: it must
// count once. Real servers, behind a proxy that loses answers and then the connection.

import { createClient, createClientPool, createCluster, createSentinel } from '@redis/client'
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide'
import fc from 'fast-check'
import { Cluster, Redis } from 'ioredis'
import * as iovalkey from 'iovalkey'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type RedisServer, until } from '../../../../../test/servers/redis-server.mjs'
import { startProxy, type TcpProxy } from '../../../../../test/servers/tcp-proxy.mjs'
import { beforeTests, freshPrefix, realCluster, realRedis, realSentinel } from '../../../test/redis/real-redis.ts'
import { runs } from '../../../test/rule-promises.ts'
import { createLimiter, type FailureOptions, fixedWindow, type Limiter } from '../../index.ts'
import { slotOf } from './hash-slot.ts'
import { PROGRAM, PROGRAM_SHA1 } from './program.ts'
import type { RedisClient } from './redis-client.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'

Logger.setLoggerConfig('off')

const host = '127.0.0.1'
const hundred = fixedWindow({ limit: 100, window: '1h' })

/** Returns the number of times that the server ran the program since the last reset of its statistics. */
async function runsOn(server: RedisServer): Promise<number> {
  const stats = await server.cli('INFO', 'commandstats')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

/** Makes a call whose answer is lost after the server has executed it, and with it the connection. */
async function loseAnswer<T>(server: RedisServer, proxy: TcpProxy, call: () => Promise<T>) {
  await server.cli('CONFIG', 'RESETSTAT')
  proxy.conditions = { loseDown: true }
  const answer = call()
  answer.catch(() => {})
  await until('the program to have run', async () => (await runsOn(server)) > 0)
  const reconnect = () => {
    proxy.conditions = {}
    proxy.reset()
  }
  return { answer, reconnect }
}

function limiterOn(
  client: RedisClient,
  failure: FailureOptions = { timeoutMs: 10_000 },
  options: RedisStoreOptions = {},
): Limiter<'async'> {
  const store = redisStore(client, { prefix: freshPrefix(), batch: 1, ...options })
  onTestFinished(() => store.close())
  return createLimiter({ rules: hundred, store, failure })
}

const server = realRedis()
const proxy = beforeTests(
  () => startProxy(server.it.port),
  (it) => it.stop(),
)

const cluster = realCluster()
const clusterProxy = beforeTests(
  () => startProxy(cluster.it.primaries[0].port),
  (it) => it.stop(),
)
/** A proxy in front of the first of three primaries. */
const keyInCluster = Array.from({ length: 100 }, (_, i) => `user ${i}`).find((key) => slotOf(`{${key}}`) < 5000) as string
const natMap = () => ({ [`${host}:${cluster.it.primaries[0].port}`]: { host, port: clusterProxy.it.port } })

const watched = realSentinel()
const watchedProxy = beforeTests(
  async () => {
    const { primary, sentinel } = watched.it
    const it = await startProxy(primary.port)
    await sentinel.cli('SENTINEL', 'REMOVE', 'main')
    await sentinel.cli('SENTINEL', 'MONITOR', 'main', host, it.port, 1)
    return it
  },
  (it) => it.stop(),
)

interface Setting {
  readonly server: () => RedisServer
  readonly proxy: () => TcpProxy
  readonly key: string
}

const single: Setting = { server: () => server.it, proxy: () => proxy.it, key: 'ada' }
const inCluster: Setting = { server: () => cluster.it.primaries[0], proxy: () => clusterProxy.it, key: keyInCluster }
const bySentinel: Setting = { server: () => watched.it.primary, proxy: () => watchedProxy.it, key: 'ada' }

type Connect = () => RedisClient | Promise<RedisClient>

const rootNodes = () => [{ url: `redis://${host}:${cluster.it.primaries[1].port}` }]
const startupNodes = () => [{ host, port: cluster.it.primaries[1].port }]
const sentinels = () => [{ host, port: watched.it.sentinel.port }]
const url = () => `redis://${host}:${proxy.it.port}`

type Row = readonly [string, Setting, Connect, RedisStoreOptions?]

const RESENDING: readonly Row[] = [
  ['ioredis', single, () => new Redis(proxy.it.port)],
  ['iovalkey', single, () => new iovalkey.Redis(proxy.it.port)],
  [
    'an ioredis cluster that connects to a lost node again',
    inCluster,
    () => new Cluster(startupNodes(), { natMap: natMap(), clusterNodeRetryStrategy: () => 50 }),
  ],
  ['ioredis with a Sentinel', bySentinel, () => new Redis({ sentinels: sentinels(), name: 'main' })],
  ['node-redis with a Sentinel', bySentinel, () => createSentinel({ sentinelRootNodes: sentinels(), name: 'main' }).connect()],
]

const NOT_RESENDING: readonly Row[] = [
  ['ioredis with a connection of the store', single, () => new Redis(proxy.it.port), { ownConnection: true }],
  ['iovalkey with a connection of the store', single, () => new iovalkey.Redis(proxy.it.port), { ownConnection: true }],
  ['an ioredis cluster', inCluster, () => new Cluster(startupNodes(), { natMap: natMap() })],
  ['an iovalkey cluster', inCluster, () => new iovalkey.Cluster(startupNodes(), { natMap: natMap() })],
  ['an ioredis cluster, slot by slot', inCluster, () => new Cluster(startupNodes(), { natMap: natMap() }), { cluster: 'slot' }],
  ['ioredis with resending turned off', single, () => new Redis(proxy.it.port, { autoResendUnfulfilledCommands: false })],
  ['node-redis', single, () => createClient({ url: url() }).connect()],
  [
    'a pool of node-redis',
    single,
    async () => {
      const pool = createClientPool({ url: url() })
      await pool.connect()
      return pool
    },
  ],
  ['valkey-glide', single, () => GlideClient.createClient({ addresses: [{ host, port: proxy.it.port }], requestTimeout: 2000 })],
  ['a node-redis cluster', inCluster, () => createCluster({ rootNodes: rootNodes(), nodeAddressMap: natMap() }).connect()],
  ['a valkey-glide cluster', inCluster, glideCluster],
]

/** Glide uses only the addresses that nodes announce. */
async function glideCluster(): Promise<RedisClient> {
  const [first, second] = cluster.it.primaries
  const { port } = clusterProxy.it
  await first.cli('CONFIG', 'SET', 'cluster-announce-port', port)
  onTestFinished(async () => {
    await first.cli('CONFIG', 'SET', 'cluster-announce-port', 0)
  })
  await until('the port to get around', async () => (await second.cli('CLUSTER', 'SLOTS')).includes(String(port)))
  return GlideClusterClient.createClient({ addresses: [{ host, port: second.port }], requestTimeout: 2000 })
}

/** Closes a client after the test. The name of the method differs between clients. */
function closeAfterTest(client: RedisClient): void {
  const { disconnect, destroy, close } = client as { disconnect?(): void; destroy?(): void; close?(): void }
  onTestFinished(() => (destroy ?? disconnect ?? close)?.call(client))
}

describe('a lost answer', () => {
  for (const [name, { server, proxy, key }, connect, options] of RESENDING) {
    test(`${name}: the client sends the command again, and it counts once`, async () => {
      const client = await connect()
      closeAfterTest(client)
      const limiter = limiterOn(client, undefined, options)
      await limiter.peek(key)
      const { answer, reconnect } = await loseAnswer(server(), proxy(), () => limiter.hit(key))
      reconnect()
      await expect(answer).rejects.toMatchObject({
        code: 'ERR_STORE_UNKNOWN',
        message: expect.stringContaining('sent before'),
      })
      expect(await runsOn(server())).toBeGreaterThan(1)
      expect(await limiter.get(key)).toBe(1)
    })
  }

  for (const [name, { server, proxy, key }, connect, options] of NOT_RESENDING) {
    test(`${name}: the command is not sent again`, async () => {
      const client = await connect()
      closeAfterTest(client)
      const limiter = limiterOn(client, { timeoutMs: 1000 }, options)
      await limiter.peek(key)
      const { answer, reconnect } = await loseAnswer(server(), proxy(), () => limiter.hit(key))
      reconnect()
      await expect(answer).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
      expect(await limiter.get(key)).toBe(1)
      expect(await runsOn(server())).toBe(2)
    })
  }

  test('a stand-in answers the caller, and the store has counted once', async () => {
    const client = new Redis(proxy.it.port)
    closeAfterTest(client)
    const limiter = limiterOn(client, { timeoutMs: 10_000, then: 'local' })
    await limiter.peek('ada')
    const { answer, reconnect } = await loseAnswer(server.it, proxy.it, () => limiter.hit('ada'))
    reconnect()
    expect(await answer).toMatchObject({ allowed: true, source: 'fallback' })
    expect(limiter.failures).toMatchObject({ unknown: 1 })
    expect(await limiter.get('ada')).toBe(1)
  })

  test('the command counts once even if the program is lost before it is sent again, as after a failover', async () => {
    const client = new Redis(proxy.it.port)
    closeAfterTest(client)
    const limiter = limiterOn(client)
    await limiter.peek('ada')
    const { answer, reconnect } = await loseAnswer(server.it, proxy.it, () => limiter.hit('ada'))
    await server.it.cli('SCRIPT', 'FLUSH')
    reconnect()
    await expect(answer).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN', message: expect.stringContaining('sent before') })
    expect(await limiter.get('ada')).toBe(1)
  })

  test('of many commands under way, those that were executed fail, the others are executed, and each counts once', async () => {
    const client = new Redis(proxy.it.port)
    closeAfterTest(client)
    const limiter = limiterOn(client)
    await limiter.peek('ada')
    const hits = (count: number) => Promise.allSettled(Array.from({ length: count }, () => limiter.hit('ada')))
    await server.it.cli('CONFIG', 'RESETSTAT')
    proxy.it.conditions = { loseDown: true }
    const executed = hits(40)
    await until('the first half to be executed', async () => (await runsOn(server.it)) === 40)
    proxy.it.conditions = { loseUp: true, loseDown: true }
    const notExecuted = hits(40)
    await new Promise(setImmediate)
    proxy.it.conditions = {}
    proxy.it.reset()
    expect((await executed).map(({ status }) => status)).toEqual(Array(40).fill('rejected'))
    expect((await notExecuted).map(({ status }) => status)).toEqual(Array(40).fill('fulfilled'))
    expect(await limiter.get('ada')).toBe(80)
  })
})

describe('the note of what was executed', () => {
  const redis = beforeTests(
    async () => {
      const client = new Redis(server.it.port)
      await client.script('LOAD', PROGRAM)
      return client
    },
    (client) => client.disconnect(),
  )

  interface Command {
    readonly nth: number
    readonly sentAs?: number
  }

  /** Sends commands in this order, each with one hit. Returns if each was executed, and the number of counted hits. */
  async function execute(commands: readonly Command[]) {
    const prefix = freshPrefix()
    const keys = [`${prefix}:state`, `${prefix}:note`]
    const run = (op: string, once: object) =>
      redis.it.call(
        'evalsha',
        PROGRAM_SHA1,
        2,
        ...keys,
        JSON.stringify({ sets: [[['fixed-window', 10_000, 60_000, 0, 0, 0]]], runs: [op, 1, op === 'hit' ? 1 : 0, 1], ...once }),
      )
    const executed = await Promise.all(
      commands.map((command) =>
        run('hit', command).then(
          () => true,
          (error: Error) => {
            expect(error.message).toMatch(/^REPEATED/)
            return false
          },
        ),
      ),
    )
    const [counted] = JSON.parse((await run('get', {})) as string)
    return { executed, counted }
  }

  /** A slow, obvious model: remembers all commands. It makes no statement about commands that are 32 or more behind the newest. */
  function modelOf(commands: readonly Command[]): boolean[] {
    const executed = new Set<number>()
    let newest = 0
    const isKnown = (nth: number) => newest - nth <= 31 && executed.has(nth)
    return commands.map(({ nth, sentAs }) => {
      if (newest - nth > 31 || isKnown(nth) || (sentAs !== undefined && isKnown(sentAs))) return false
      executed.add(nth)
      newest = Math.max(newest, nth)
      return true
    })
  }

  test('is right about any commands in any order', async () => {
    const nth = fc.oneof(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 2 ** 53 - 1 }),
    )
    const command: fc.Arbitrary<Command> = fc.oneof(fc.record({ nth }), fc.record({ nth, sentAs: nth }))
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 120, size: 'max' }), async (commands) => {
        const { executed, counted } = await execute(commands)
        expect(executed).toEqual(modelOf(commands))
        expect(counted).toBe(executed.filter(Boolean).length)
      }),
      runs(150),
    )
  })

  test('lets every command run exactly once that is sent several times and overtaken by less than 32', async () => {
    const times = fc.integer({ min: 1, max: 3 })
    const late = fc.integer({ min: 0, max: 31 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ times, late }), { minLength: 1, maxLength: 60 }), async (sent) => {
        const arrivals = sent.flatMap(({ times, late }, i) =>
          // The first sending comes up to 31 positions late. The commands that are sent again come any time after it.
          Array.from({ length: times }, (_, again) => ({ nth: i + 1, at: i + late + again * 40 })),
        )
        const commands = arrivals.sort((a, b) => a.at - b.at).map(({ nth }) => ({ nth }))
        const { executed, counted } = await execute(commands)
        const ran = commands.filter((_, i) => executed[i]).map(({ nth }) => nth)
        expect(ran.sort((a, b) => a - b)).toEqual(sent.map((_, i) => i + 1))
        expect(counted).toBe(sent.length)
      }),
      runs(150),
    )
  })
})
