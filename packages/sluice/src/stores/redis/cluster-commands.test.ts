// Commands to a real cluster of three primaries: one for each node and turn, or one for each slot.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Cluster } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../../test/servers/redis-server.mjs'
import { CLUSTER, clientFor } from '../../../test/redis/clients.ts'
import { freshPrefix, patientLimiter, realCluster } from '../../../test/redis/real-redis.ts'
import { createLimiter, fixedWindow } from '../../index.ts'
import { slotOf } from './hash-slot.ts'
import type { IoredisNode } from './ioredis-nodes.ts'
import type { RedisClient } from './redis-client.ts'
import { redisStore } from './redis-store.ts'

const cluster = realCluster()
const primaries = () => cluster.it.primaries
const host = '127.0.0.1'

const five = fixedWindow({ limit: 5, window: '1m', name: 'five' })
const hundred = fixedWindow({ limit: 100, window: '1m', name: 'hundred' })
const USERS = Array.from({ length: 128 }, (_, i) => `user ${i}`)
const slotsOf = (keys: readonly string[]) => new Set(keys.map((key) => slotOf(`{${key}}`)))
const primaryOf = (key: string) => Math.floor((slotOf(`{${key}}`) * 3) / 16_384)

async function sumOf(section: 'commandstats' | 'errorstats', pattern: RegExp): Promise<number> {
  const infos = await Promise.all(primaries().map((node) => node.cli('INFO', section)))
  return infos.reduce((sum, info) => sum + Number(pattern.exec(info)?.[1] ?? 0), 0)
}

/** Number of commands that the primaries executed while `call` ran. */
async function commandsOf(call: () => Promise<unknown>): Promise<number> {
  await Promise.all(primaries().map((node) => node.cli('CONFIG', 'RESETSTAT')))
  await call()
  expect(await sumOf('errorstats', /errorstat_MOVED:count=(\d+)/)).toBe(0)
  // The first command with a program has its text.
  return (await sumOf('commandstats', /cmdstat_evalsha:calls=(\d+)/)) + (await sumOf('commandstats', /cmdstat_eval:calls=(\d+)/))
}

async function ioredisCluster(options: object = {}): Promise<Cluster> {
  const client = new Cluster([{ host, port: primaries()[0].port }], options)
  onTestFinished(() => client.disconnect())
  await once(client, 'ready')
  return client
}

/** Clients that tell which node holds a slot. */
const KNOW_NODES = ['ioredis', 'iovalkey', 'node-redis']

describe.each(Object.entries(CLUSTER))('%s', (name, connect) => {
  const connected = clientFor(connect, () => primaries()[0].port)
  const prefix = freshPrefix()
  const limiterOn = (options: object) => patientLimiter([five, hundred], redisStore(connected.it.client, { prefix, ...options }))
  const ofNodes = (batch: number) =>
    [0, 1, 2].reduce((sum, node) => sum + Math.ceil(USERS.filter((user) => primaryOf(user) === node).length / batch), 0)

  test.each([
    ['as many calls as there are', { batch: 128 }, 3],
    ['at most `batch` calls', { batch: 20 }, ofNodes(20)],
    ['the calls of a slot', { batch: 128, cluster: 'slot' }, slotsOf(USERS).size],
  ])('128 hits on 128 keys in one turn are a command for each node, with %s', async (_, options, commands) => {
    const isByNode = KNOW_NODES.includes(name) && !('cluster' in options)
    const limiter = limiterOn(options)
    await Promise.all(USERS.map((user) => limiter.reset(user)))
    const hit = async () => {
      const decisions = await Promise.all(USERS.map((user) => limiter.hit(user)))
      expect(decisions.every(({ remaining }) => remaining === 4)).toBe(true)
    }
    expect(await commandsOf(hit)).toBe(isByNode ? commands : slotsOf(USERS).size)
    expect(await Promise.all(USERS.map((user) => limiter.get(user)))).toEqual(USERS.map(() => 1))
  })

  test('calls on one key are decided in their order', async () => {
    const limiter = limiterOn({})
    const users = Array.from({ length: 60 }, (_, i) => `in order ${i % 20}`)
    const decisions = await Promise.all(users.map((user) => limiter.hit(user)))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(users.map((_, i) => 4 - Math.floor(i / 20)))
  })

  test('a program that is not there is sent to the node that lacks it', async () => {
    const limiter = limiterOn({})
    await Promise.all(primaries().map((node) => node.cli('SCRIPT', 'FLUSH')))
    const users = Array.from({ length: 20 }, (_, i) => `other ${i}`)
    const decisions = await Promise.all(users.map((user) => limiter.hit(user)))
    expect(decisions.every(({ remaining }) => remaining === 4)).toBe(true)
    expect(await Promise.all(users.map((user) => limiter.get(user)))).toEqual(users.map(() => 1))
  })

  test('charges on one node are one atomic step, and charges on several nodes are made node by node', async () => {
    const rules = [fixedWindow({ limit: 5, window: '1m', per: 'user' }), fixedWindow({ limit: 9, window: '1m', per: 'org' })]
    const limiter = createLimiter({
      rules,
      store: redisStore(connected.it.client, { prefix: freshPrefix() }),
      failure: { timeoutMs: 20_000 },
    })
    const [user] = USERS
    const near = USERS.find((key) => key !== user && primaryOf(key) === primaryOf(user)) as string
    const far = USERS.find((key) => primaryOf(key) !== primaryOf(user)) as string
    const isByNode = KNOW_NODES.includes(name)
    for (const [org, inOneStep] of [
      [near, isByNode],
      [far, false],
    ] as const) {
      await limiter.peek({ user, org })
      expect(await commandsOf(() => limiter.hit({ user, org })), org).toBe(inOneStep ? 1 : 4)
    }
  })
})

describe('the key prefix of ioredis', () => {
  test.each([
    ['of the cluster', { keyPrefix: 'app:' }],
    ['of its connections', { redisOptions: { keyPrefix: 'app:' } }],
  ])('%s is in every name, and does not change who shares a count', async (_, options) => {
    const client = await ioredisCluster(options)
    const prefix = freshPrefix()
    const [byNode, bySlot] = (['node', 'slot'] as const).map((mode) =>
      patientLimiter([five], redisStore(client, { prefix, cluster: mode })),
    )
    // Connects to all nodes.
    await Promise.all(USERS.map((user) => byNode.peek(user)))
    expect(await commandsOf(() => Promise.all(USERS.map((user) => byNode.hit(user))))).toBeLessThanOrEqual(6)
    expect(await Promise.all(USERS.map((user) => bySlot.get(user)))).toEqual(USERS.map(() => 1))
    const names = await Promise.all(primaries().map((node) => node.cli('KEYS', `*${prefix}:1:*`)))
    const all = names.join('\n').trim().split('\n').filter(Boolean)
    expect(all).toHaveLength(USERS.length)
    expect(all.every((text) => text.startsWith(`app:${prefix}:1:{user `))).toBe(true)
  })
})

describe('a connection to a node that resends commands', () => {
  test('gets a command for each slot, which counts once', async () => {
    const client = await ioredisCluster({ clusterNodeRetryStrategy: () => 50 })
    const limiter = patientLimiter([five], redisStore(client, { prefix: freshPrefix() }))
    await Promise.all(USERS.map((user) => limiter.peek(user)))
    expect(await commandsOf(() => Promise.all(USERS.map((user) => limiter.hit(user))))).toBe(slotsOf(USERS).size)
  })
})

describe('a cluster that forbids keys of several slots in a script', () => {
  /** With a shebang and without flags, Redis allows a script only keys of one slot. */
  const SHEBANG = '#!lua\n'
  const hashes = new Map<string, string>()
  const strict = ([command, text, ...args]: readonly string[]): [string, ...string[]] => {
    if (command.toLowerCase() === 'eval') {
      hashes.set(
        createHash('sha1').update(text).digest('hex'),
        createHash('sha1')
          .update(SHEBANG + text)
          .digest('hex'),
      )
      return [command, SHEBANG + text, ...args]
    }
    return [command, hashes.get(text) ?? text, ...args]
  }

  /** A client whose scripts must not use keys of several slots, as some servers have it. */
  async function strictClient() {
    const client = await ioredisCluster()
    let commandsToNodes = 0
    const strictNode = (node: IoredisNode): IoredisNode => ({
      call: (...command) => {
        if (command[2] === '0') commandsToNodes += 1
        return node.call(...strict(command))
      },
      get status() {
        return node.status
      },
      options: node.options,
    })
    const wrapped = {
      isCluster: true,
      call: (...command: string[]) => client.call(...strict(command)),
      get options() {
        return client.options
      },
      get status() {
        return client.status
      },
      get slots() {
        return client.slots
      },
      nodes: (role: 'master') => client.nodes(role).map((node) => strictNode(node as unknown as IoredisNode)),
    }
    // Connects to all nodes.
    await until('all nodes to be connected', async () => {
      await Promise.all(USERS.map((user) => client.get(user)))
      return client.nodes('master').every(({ status }) => status === 'ready')
    })
    return { client: wrapped as unknown as RedisClient, commandsToNodes: () => commandsToNodes }
  }

  test('is recognised by its answer, once, and gets a command for each slot from then on', async () => {
    const { client, commandsToNodes } = await strictClient()
    const limiter = patientLimiter([five], redisStore(client, { prefix: freshPrefix(), batch: 128 }))
    const decisions = await Promise.all(USERS.map((user) => limiter.hit(user)))
    expect(decisions.every(({ remaining }) => remaining === 4)).toBe(true)
    expect(commandsToNodes()).toBe(3)
    const again = await Promise.all(USERS.map((user) => limiter.hit(user)))
    expect(again.every(({ remaining }) => remaining === 3)).toBe(true)
    expect(commandsToNodes()).toBe(3)
  })

  test('fails calls if one command for each node is forced', async () => {
    const { client } = await strictClient()
    const store = redisStore(client, { prefix: freshPrefix(), cluster: 'node', batch: 128 })
    const hits = await Promise.allSettled(USERS.map((user) => patientLimiter([five], store).hit(user)))
    const codes = new Set(hits.map((hit) => (hit.status === 'rejected' ? hit.reason.code : 'decided')))
    expect(codes).toEqual(new Set(['decided', 'ERR_STORE_FATAL']))
  })
})

describe('the option cluster', () => {
  test('is one of two words', async () => {
    const client = await ioredisCluster()
    for (const wrong of ['nodes', '', true, null]) {
      expect(() => redisStore(client, { cluster: wrong as 'node' })).toThrow(
        expect.objectContaining({ code: 'ERR_OPTION', option: 'cluster' }),
      )
    }
  })

  test('cannot be node with a client that does not tell which node holds a slot', () => {
    const send = Object.assign(async () => null, { isCluster: true })
    expect(() => redisStore(send, { cluster: 'node' })).toThrow(/needs a client with a map of slots/)
    expect(() => redisStore(send, { cluster: 'slot' })).not.toThrow()
  })
})
