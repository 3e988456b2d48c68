// Ways in which a Redis loses records of the service. Each has a point up to which everything is kept, and the loss itself.

import { startRedis, startSentinel, until } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'

/**
 * @typedef {object} RecordEnvironment
 * @property {string} store address of Redis for the service
 * @property {() => Promise<void>} keep later changes will be lost
 * @property {() => Promise<void>} lose
 * @property {() => Promise<unknown>} stop
 */

/** @typedef {{ name: string, what: string, startEnvironment(): Promise<RecordEnvironment> }} RecordLoss */

/** @type {RecordLoss} */
export const flushall = {
  name: 'records-flushall',
  what: 'FLUSHALL: policies and keys of the service go',
  async startEnvironment() {
    const redis = await startRedis()
    return {
      store: `redis://127.0.0.1:${redis.port}`,
      keep: async () => {},
      lose: async () => void (await redis.cli('FLUSHALL')),
      stop: () => redis.stop(),
    }
  },
}

/** @type {RecordLoss} */
export const restart = {
  name: 'records-restart',
  what: 'Redis restarts without persistence',
  async startEnvironment() {
    const redis = await startRedis()
    return {
      store: `redis://127.0.0.1:${redis.port}`,
      keep: async () => {},
      async lose() {
        await redis.kill()
        await redis.start()
      },
      stop: () => redis.stop(),
    }
  },
}

/** @type {RecordLoss} */
export const olderSnapshot = {
  name: 'records-snapshot',
  what: 'Redis restarts with a snapshot of before a key was revoked',
  async startEnvironment() {
    const redis = await startRedis()
    return {
      store: `redis://127.0.0.1:${redis.port}`,
      keep: async () => void (await redis.cli('SAVE')),
      async lose() {
        await redis.kill()
        await redis.start()
      },
      stop: () => redis.stop(),
    }
  },
}

/** @type {RecordLoss} */
export const laggingReplica = {
  name: 'records-replica',
  what: 'the link to the replica goes silent, the primary dies, the replica is promoted',
  async startEnvironment() {
    const primary = await startRedis()
    const link = await startProxy(primary.port)
    const replica = await startRedis('--replicaof', '127.0.0.1', String(link.port))
    await until('the replica to follow', async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'))
    const proxy = await startProxy(primary.port)
    return {
      store: `redis://127.0.0.1:${proxy.port}`,
      async keep() {
        await untilReplicated(primary)
        link.conditions = { loseDown: true }
      },
      async lose() {
        await primary.kill()
        await replica.cli('REPLICAOF', 'NO', 'ONE')
        proxy.targetPort = replica.port
      },
      async stop() {
        await Promise.all([proxy.stop(), link.stop()])
        await Promise.all([primary.stop(), replica.stop()])
      },
    }
  },
}

/** @type {RecordLoss} */
export const sentinelFailover = {
  name: 'records-sentinel',
  what: 'the replica may no longer follow, the primary dies, Sentinel promotes the replica',
  async startEnvironment() {
    const { sentinel, primary, replica, stop } = await startSentinel()
    // Sentinel does not promote a replica that was disconnected for more than ten times this time.
    await sentinel.cli('SENTINEL', 'SET', 'main', 'down-after-milliseconds', 3000)
    return {
      store: `redis-sentinel://127.0.0.1:${sentinel.port}/main`,
      async keep() {
        await untilReplicated(primary)
        await primary.cli('ACL', 'SETUSER', 'default', '-psync', '-sync')
        await primary.cli('CLIENT', 'KILL', 'TYPE', 'replica')
      },
      async lose() {
        await primary.kill()
        await until('the replica to be promoted', async () => (await replica.cli('ROLE')).startsWith('master'), 30_000)
      },
      stop,
    }
  },
}

/** @param {import('../servers/redis-server.mjs').RedisServer} primary */
async function untilReplicated(primary) {
  await until('the replica to have everything', async () => (await primary.cli('WAIT', 1, 1000)) === '1')
}
