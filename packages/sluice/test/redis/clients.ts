// Every client that people use, connected to a real server. Names are those of their packages.

import { once } from 'node:events'
import { createClient, createClientPool, createCluster, createSentinel } from '@redis/client'
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide'
import * as ioredis from 'ioredis'
import * as iovalkey from 'iovalkey'
import type { RedisClient, SendCommand } from '../../src/stores/redis/redis-client.ts'
import { beforeTests, type Later } from './real-redis.ts'

export interface Connected {
  readonly client: RedisClient
  close(): unknown
}

type Connect = (port: number) => Promise<Connected>

// Glide also prints every error to standard output.
Logger.setLoggerConfig('off')

const host = '127.0.0.1'
const urlOf = (port: number) => `redis://${host}:${port}`

async function ofIoredis(client: ioredis.Redis | ioredis.Cluster | iovalkey.Redis | iovalkey.Cluster): Promise<Connected> {
  await once(client, 'ready')
  return { client, close: () => client.disconnect() }
}

export const SINGLE: Readonly<Record<string, Connect>> = {
  ioredis: (port) => ofIoredis(new ioredis.Redis(port, host)),
  iovalkey: (port) => ofIoredis(new iovalkey.Redis(port, host)),
  async 'node-redis'(port) {
    const client = await createClient({ url: urlOf(port) }).connect()
    return { client, close: () => client.destroy() }
  },
  async 'a pool of node-redis'(port) {
    const client = createClientPool({ url: urlOf(port) })
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async 'valkey-glide'(port) {
    const client = await GlideClient.createClient({ addresses: [{ host, port }] })
    return { client, close: () => client.close() }
  },
  async 'a function'(port) {
    const client = new ioredis.Redis(port, host)
    const send: SendCommand = (_key, [command, ...args]) => client.call(command, ...args)
    return { client: send, close: () => client.disconnect() }
  },
}

export const CLUSTER: Readonly<Record<string, Connect>> = {
  ioredis: (port) => ofIoredis(new ioredis.Cluster([{ host, port }])),
  iovalkey: (port) => ofIoredis(new iovalkey.Cluster([{ host, port }])),
  async 'node-redis'(port) {
    const client = await createCluster({ rootNodes: [{ url: urlOf(port) }] }).connect()
    return { client, close: () => client.destroy() }
  },
  async 'valkey-glide'(port) {
    const client = await GlideClusterClient.createClient({ addresses: [{ host, port }] })
    return { client, close: () => client.close() }
  },
  async 'a function'(port) {
    const client = new ioredis.Cluster([{ host, port }])
    const send = Object.assign<SendCommand, Partial<SendCommand>>(
      (_key, [command, ...args]) => client.call(command.toLowerCase(), ...args),
      {
        isCluster: true,
        resends: true,
      },
    )
    return { client: send, close: () => client.disconnect() }
  },
}

/** Each finds the primary by asking the Sentinel on the port. */
export const SENTINEL: Readonly<Record<string, Connect>> = {
  ioredis: (port) => ofIoredis(new ioredis.Redis({ sentinels: [{ host, port }], name: 'main' })),
  async 'node-redis'(port) {
    const client = await createSentinel({ sentinelRootNodes: [{ host, port }], name: 'main' }).connect()
    return { client, close: () => client.destroy() }
  },
}

/** A client for the tests that follow. */
export function clientFor(connect: Connect, port: () => number): Later<Connected> {
  return beforeTests(
    () => connect(port()),
    (connected) => connected.close(),
  )
}
