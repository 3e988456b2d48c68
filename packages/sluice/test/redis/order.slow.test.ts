// Calls on one key are decided in the order in which they were made, also while the client is connecting.

import { setTimeout as pause } from 'node:timers/promises'
import { createClient, createCluster } from '@redis/client'
import * as ioredis from 'ioredis'
import * as iovalkey from 'iovalkey'
import { describe, expect, test } from 'vitest'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { parseRule } from '../../src/algorithms/parse-rule.ts'
import { createLimiter } from '../../src/index.ts'
import type { RedisClient } from '../../src/stores/redis/redis-client.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { freshPrefix, realCluster, realRedis } from './real-redis.ts'

const server = realRedis()
const cluster = realCluster()

interface Made {
  readonly client: RedisClient
  close(): void
}

/** Each as it is just after it was made. None is connected yet. */
const CLIENTS: Readonly<Record<string, (port: number) => Made>> = {
  ioredis(port) {
    const client = new ioredis.Redis(port, '127.0.0.1')
    return { client, close: () => client.disconnect() }
  },
  'ioredis that connects when it is used'(port) {
    const client = new ioredis.Redis(port, '127.0.0.1', { lazyConnect: true })
    return { client, close: () => client.disconnect() }
  },
  iovalkey(port) {
    const client = new iovalkey.Redis(port, '127.0.0.1')
    return { client, close: () => client.disconnect() }
  },
  'node-redis'(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` })
    client.on('error', () => {})
    void client.connect().catch(() => {})
    return { client, close: () => client.destroy() }
  },
}

const LIMIT = 100_000

describe.each(Object.entries(CLIENTS))('%s', (_, make) => {
  test.each([
    ['from the moment it was made', false],
    ['also when Redis loses the program on the way', true],
  ])('decides the calls of a key in their order, %s', async (_, isFlushed) => {
    const random = seededRandom()
    const proxy = await startProxy(server.it.port)
    // Connecting takes several round trips, and so lasts for some of the pauses between tries.
    proxy.conditions = { upDelayMs: 4, downDelayMs: 4, jitterMs: 6 }
    const { client, close } = make(proxy.port)
    try {
      const store = redisStore(client, { prefix: freshPrefix() })
      const failure = { timeoutMs: 20_000, failures: 1000 }
      const limiters = [
        createLimiter({ rules: parseRule(`${LIMIT}/hour`), store, failure }),
        createLimiter({ rules: parseRule(`${LIMIT}/hour`), store, failure }),
      ]
      const remaining: Promise<number>[] = []
      for (let i = 0; i < 60; i++) {
        const calls = random.pick([1, 1, 2, 70])
        for (let call = 0; call < calls; call++)
          remaining.push(
            random
              .pick(limiters)
              .hit('ada')
              .then(({ remaining }) => remaining),
          )
        if (isFlushed && i % 20 === 15) await server.it.cli('SCRIPT', 'FLUSH')
        if (random.whole(0, 1) === 0) await pause(random.whole(0, 4))
        else await new Promise(setImmediate)
      }
      const inOrder = remaining.map((_, i) => LIMIT - i - 1)
      expect(await Promise.all(remaining), `SEED=${random.seed}`).toEqual(inOrder)
    } finally {
      close()
      await proxy.stop()
    }
  })
})

/** Clusters as they are just after they were made. Each node is behind a proxy. */
const CLUSTER_CLIENTS: Readonly<Record<string, (port: number, natMap: NatMap) => Made>> = {
  ioredis(port, natMap) {
    const client = new ioredis.Cluster([{ host: '127.0.0.1', port }], { natMap })
    return { client, close: () => client.disconnect() }
  },
  'ioredis that connects when it is used'(port, natMap) {
    const client = new ioredis.Cluster([{ host: '127.0.0.1', port }], { natMap, lazyConnect: true })
    return { client, close: () => client.disconnect() }
  },
  iovalkey(port, natMap) {
    const client = new iovalkey.Cluster([{ host: '127.0.0.1', port }], { natMap })
    return { client, close: () => client.disconnect() }
  },
  'node-redis'(port, natMap) {
    const rootNodes = [{ url: `redis://127.0.0.1:${port}` }]
    const client = createCluster({ rootNodes, nodeAddressMap: natMap })
    client.on('error', () => {})
    void client.connect().catch(() => {})
    return { client, close: () => client.destroy() }
  },
}

type NatMap = Record<string, { host: string; port: number }>

describe.each(Object.entries(CLUSTER_CLIENTS))('a cluster of %s', (_, make) => {
  test.each([
    ['from the moment it was made', false],
    ['also when Redis loses the program on the way', true],
  ])('decides the calls of a key in their order, %s', async (_, isFlushed) => {
    const random = seededRandom()
    const { nodes } = cluster.it
    const proxies = await Promise.all(nodes.map(({ port }) => startProxy(port)))
    for (const proxy of proxies) proxy.conditions = { upDelayMs: 4, downDelayMs: 4, jitterMs: 6 }
    const natMap = Object.fromEntries(
      nodes.map(({ port }, i) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxies[i].port }]),
    )
    const { client, close } = make(nodes[0].port, natMap)
    try {
      const store = redisStore(client, { prefix: freshPrefix() })
      const failure = { timeoutMs: 20_000, failures: 1000 }
      const limiter = createLimiter({ rules: parseRule(`${LIMIT}/hour`), store, failure })
      const keys = ['ada', 'bob', 'eve', 'joe']
      const remaining = new Map(keys.map((key) => [key, [] as Promise<number>[]]))
      for (let i = 0; i < 60; i++) {
        const calls = random.pick([1, 1, 2, 70])
        for (let call = 0; call < calls; call++) {
          const key = random.pick(keys)
          remaining.get(key)?.push(limiter.hit(key).then((decision) => decision.remaining))
        }
        if (isFlushed && i % 20 === 15) await Promise.all(cluster.it.primaries.map((node) => node.cli('SCRIPT', 'FLUSH')))
        if (random.whole(0, 1) === 0) await pause(random.whole(0, 4))
        else await new Promise(setImmediate)
      }
      for (const [key, ofKey] of remaining) {
        const inOrder = ofKey.map((_, i) => LIMIT - i - 1)
        expect(await Promise.all(ofKey), `${key}, SEED=${random.seed}`).toEqual(inOrder)
      }
    } finally {
      close()
      await Promise.all(proxies.map((proxy) => proxy.stop()))
    }
  })
})
