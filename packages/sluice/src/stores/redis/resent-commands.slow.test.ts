// Some clients send a command again if the connection is lost before its answer has come. The command may have been executed, so
// it must count once. The tests use real servers behind a proxy, which loses answers and then the connection.

import { createClient, createClientPool, createCluster, createSentinel } from '@redis/client'
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide'
import { Cluster, Redis } from 'ioredis'
import * as iovalkey from 'iovalkey'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type RedisServer, until } from '../../../../../test/servers/redis-server.mjs'
import { startProxy, type TcpProxy } from '../../../../../test/servers/tcp-proxy.mjs'
import { beforeTests, freshPrefix, realCluster, realRedis, realSentinel } from '../../../test/redis/real-redis.ts'
import { createLimiter, type FailureOptions, fixedWindow, type Limiter } from '../../index.ts'
import { seededRandom } from '../../testing/random.ts'
import { slotOf } from './hash-slot.ts'
import type { RedisClient } from './redis-client.ts'
import { describeRules, type NoteEntry, RedisCommand } from './redis-command.ts'
import { RedisKeys } from './redis-keys.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'
import { BITS, LIFE_MS, type NotedCommand, SenderNote } from './sender-note.ts'

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

/** With pipelines of its own, ioredis does not let a command be written only once. */
const pipelining = () => new Redis(proxy.it.port, { enableAutoPipelining: true })

type Row = readonly [string, Setting, Connect, RedisStoreOptions?]

const RESENDING: readonly Row[] = [
  ['ioredis with pipelines of its own', single, pipelining],
  [
    'an ioredis cluster that connects to a lost node again',
    inCluster,
    () => new Cluster(startupNodes(), { natMap: natMap(), clusterNodeRetryStrategy: () => 50 }),
  ],
  ['node-redis with a Sentinel', bySentinel, () => createSentinel({ sentinelRootNodes: sentinels(), name: 'main' }).connect()],
]

const NOT_RESENDING: readonly Row[] = [
  ['ioredis', single, () => new Redis(proxy.it.port)],
  ['iovalkey', single, () => new iovalkey.Redis(proxy.it.port)],
  ['ioredis with a Sentinel', bySentinel, () => new Redis({ sentinels: sentinels(), name: 'main' })],
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
    const client = pipelining()
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
    const client = pipelining()
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

  test('of a command that is written once, other commands of the client are sent again and get their own answers', async () => {
    const client = new Redis(proxy.it.port)
    closeAfterTest(client)
    const limiter = limiterOn(client)
    const name = freshPrefix()
    await limiter.peek('ada')
    await server.it.cli('CONFIG', 'RESETSTAT')
    proxy.it.conditions = { loseUp: true, loseDown: true }
    const own = Array.from({ length: 3 }, (_, i) => [
      client.echo(`${name} before ${i}`),
      limiter.hit('ada'),
      client.echo(`${name} after ${i}`),
    ])
    const settled = Promise.allSettled(own.flat())
    await new Promise(setImmediate)
    proxy.it.conditions = {}
    proxy.it.reset()
    for (const [i, outcome] of (await settled).entries()) {
      if (i % 3 === 1) expect(outcome).toMatchObject({ reason: { code: 'ERR_STORE_UNKNOWN' } })
      else
        expect(outcome).toEqual({
          status: 'fulfilled',
          value: `${name} ${i % 3 === 0 ? 'before' : 'after'} ${Math.floor(i / 3)}`,
        })
    }
    expect(await runsOn(server.it)).toBe(0)
    expect(await limiter.hit('ada')).toMatchObject({ remaining: 99, source: 'store' })
  })
})

describe('the note of what was executed', () => {
  const redis = beforeTests(
    async () => new Redis(server.it.port),
    (client) => client.disconnect(),
  )
  const rules = [fixedWindow({ limit: 1_000_000, window: '1h' })]

  /** A sender over the real server. `send` sends the next command, or one again. Each has one hit on ada. */
  async function senderOver(prefix = freshPrefix()) {
    const keys = new RedisKeys(prefix)
    const described = describeRules(rules, keys)
    const charges = [{ rule: 0, key: 'ada', amount: 1 }]
    const command = new RedisCommand([{ operation: 'hit', charges, rules: described }], keys)
    const { program } = command
    await redis.it.script('LOAD', program.source)
    /** Returns if the command was executed. */
    const send = async (entry: NoteEntry): Promise<boolean> => {
      try {
        await redis.it.call('evalsha', program.sha1, ...command.arguments({ note: entry }))
        return true
      } catch (error) {
        expect((error as Error).message).toMatch(/^REPEATED/)
        return false
      }
    }
    const counted = async () => (await redis.it.getBuffer(command.names[0]))?.readDoubleLE(8) ?? 0
    const noteNames = () => redis.it.keys(`${prefix}:once:*`)
    const note = (now?: () => number) => new SenderNote((id) => keys.onceOf('x', id), now)
    return { send, counted, noteNames, note }
  }

  test('lets every command run exactly once that is sent several times, in any order, cycle after cycle', async () => {
    const { send, counted, note } = await senderOver()
    const random = seededRandom()
    const sender = note()
    let sent = 0
    let waiting: NotedCommand[] = []
    while (sent < 3 * BITS) {
      const begun = Array.from({ length: random.whole(1, 200) }, () => sender.begin())
      sent += begun.length
      waiting.push(...begun)
      // Commands overtake each other, and some come twice.
      const arrivals = waiting.flatMap((command) => (random.whole(0, 9) === 0 ? [command, command] : [command]))
      const executed = new Map<NotedCommand, boolean>()
      const results = arrivals
        .sort(() => random.whole(-1, 1))
        .map(async (command) => ({ command, ran: await send(command.entry) }))
      for (const { command, ran } of await Promise.all(results)) {
        expect(ran, `SEED=${random.seed}, bit ${command.entry.bit}`).toBe(!executed.has(command))
        executed.set(command, ran)
      }
      for (const command of waiting) command.end(true)
      waiting = []
    }
    expect(await counted()).toBe(sent)
  })

  test('lets a command run that 1000 others have overtaken', async () => {
    const { send, note } = await senderOver()
    const sender = note()
    for (let again = 0; again < 3 * BITS; again += 1001) {
      const late = sender.begin()
      for (let nth = 0; nth < 1000; nth++) {
        const command = sender.begin()
        expect(await send(command.entry)).toBe(true)
        command.end(true)
      }
      expect(await send(late.entry)).toBe(true)
      expect(await send(late.entry)).toBe(false)
      late.end(true)
    }
  })

  test('a command that is far behind the newest keeps its bit, because a new note begins', async () => {
    const { send, counted, noteNames, note } = await senderOver()
    const sender = note()
    const late = sender.begin()
    expect(await send(late.entry)).toBe(true)
    for (let nth = 1; nth <= BITS; nth++) {
      const command = sender.begin()
      expect(await send(command.entry)).toBe(true)
      command.end(true)
    }
    expect(await send(late.entry)).toBe(false)
    expect(await noteNames()).toHaveLength(2)
    expect(await counted()).toBe(BITS + 1)
  })

  test('that Redis has lost refuses no command that was not executed, in no cycle', async () => {
    const { send, counted, noteNames, note } = await senderOver()
    const sender = note()
    const random = seededRandom()
    let sent = 0
    const sendNext = async () => {
      const command = sender.begin()
      expect(await send(command.entry), `SEED=${random.seed}, command ${sent}`).toBe(true)
      command.end(true)
      sent += 1
      return command
    }
    const some = Array.from({ length: 8 }, () => random.whole(0, 5 * BITS))
    const all = [10, BITS + 10, 2 * BITS + 10, 3 * BITS - 20, 3 * BITS - 1, ...some].sort((a, b) => a - b)
    for (const lostAfter of all) {
      while (sent < lostAfter) await sendNext()
      await redis.it.del(await noteNames())
      expect(await noteNames()).toEqual([])
      for (let again = 0; again < 3; again++) {
        const { entry } = await sendNext()
        expect(await send(entry), `SEED=${random.seed}, command ${sent} again`).toBe(false)
      }
    }
    while (sent < 6 * BITS) await sendNext()
    expect(await counted()).toBe(sent)
    expect(await redis.it.pttl((await noteNames())[0])).toBeGreaterThan(0)
  })

  test('has an expiry after every command, and its life starts again after half of it', async () => {
    const { send, noteNames, note } = await senderOver()
    const sender = note()
    await send(sender.begin().entry)
    const [name] = await noteNames()
    for (const [restMs, least] of [
      [LIFE_MS / 2 + 60_000, LIFE_MS / 2],
      [LIFE_MS / 2 - 1, LIFE_MS - 60_000],
    ]) {
      await redis.it.pexpire(name, restMs)
      await send(sender.begin().entry)
      expect(await redis.it.pttl(name)).toBeGreaterThan(least)
    }
    expect(await redis.it.pttl(name)).toBeLessThanOrEqual(LIFE_MS)
    await redis.it.del(name)
    await send(sender.begin().entry)
    expect(await redis.it.pttl(name)).toBeGreaterThan(0)
  })

  test('ends after a failed command and after a long pause, and a new one begins', async () => {
    const { send, noteNames, note } = await senderOver()
    let nowMs = 0
    const sender = note(() => nowMs)
    const first = sender.begin()
    await send(first.entry)
    first.end(false)
    const second = sender.begin()
    expect(second.entry).toMatchObject({ bit: 0, value: 1 })
    await send(second.entry)
    second.end(true)
    expect(await noteNames()).toHaveLength(2)
    nowMs = LIFE_MS / 2
    const third = sender.begin()
    expect(third.entry).toMatchObject({ name: second.entry.name, bit: 1 })
    nowMs = 2 * LIFE_MS
    expect(sender.begin().entry.name).not.toBe(second.entry.name)
  })
})
