// The servers that faults run against: one server, one behind a proxy or Upstash's front, a primary with a replica, a cluster.

import { freePort, RedisServer, startCluster, startRedis, until } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'
import { startUpstashFront } from '../servers/upstash-front.mjs'
import { openClient, openClusterClient, openObserver, openUpstash } from './clients.mjs'

/** @import { ClientName } from './clients.mjs' */

/** @param {...string} args of redis-server */
export async function oneServer(...args) {
  return environmentOf(await startRedis(...args))
}

/** A server that has not been started. */
export async function noServer() {
  return environmentOf(new RedisServer(await freePort(), []))
}

/** @param {RedisServer} server */
function environmentOf(server) {
  return {
    server,
    open: (/** @type {ClientName} */ name) => openClient(name, server.port),
    openObserver: () => openObserver(server.port),
    servers: () => [server],
    leftovers: () => keysWithoutExpiry([server]),
    stop: () => server.stop(),
  }
}

export async function serverBehindProxy() {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  return {
    ...environmentOf(server),
    proxy,
    open: (/** @type {ClientName} */ name) => openClient(name, proxy.port),
    async stop() {
      await proxy.stop()
      await server.stop()
    },
  }
}

/** A server that is reached only by Upstash's REST API. */
export async function serverBehindFront() {
  const server = await startRedis()
  const front = await startUpstashFront(server.port)
  return {
    ...environmentOf(server),
    front,
    open: (/** @type {ClientName} */ name) => openUpstash(name, front),
    async stop() {
      await front.end()
      await server.stop()
    },
  }
}

/**
 * A primary and its replica. The replica reaches the primary through one proxy, clients reach it through another.
 */
export async function primaryAndReplica() {
  const primary = await startRedis()
  const link = await startProxy(primary.port)
  const replica = await startRedis('--replicaof', '127.0.0.1', String(link.port))
  await until('the replica to follow', async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'))
  const proxy = await startProxy(primary.port)
  return {
    ...environmentOf(replica),
    primary,
    replica,
    link,
    proxy,
    open: (/** @type {ClientName} */ name) => openClient(name, proxy.port),
    async stop() {
      await Promise.all([proxy.stop(), link.stop()])
      await Promise.all([primary.stop(), replica.stop()])
    },
  }
}

/** Three primaries with a replica each. A part that is down does not stop the others. */
export async function cluster() {
  const { nodes, primaries, replicas, stop } = await startCluster(3)
  for (const node of nodes) await node.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
  const ports = nodes.map((node) => node.port)
  return {
    primaries,
    replicas,
    open: (/** @type {ClientName} */ name) => openClusterClient(name, ports),
    openObserver: () => openClusterClient('ioredis', ports),
    servers: () => nodes.filter((node) => node.process !== undefined),
    leftovers: () => keysWithoutExpiry(nodes.filter((node) => node.process !== undefined)),
    stop,
  }
}

/** @param {readonly RedisServer[]} servers */
async function keysWithoutExpiry(servers) {
  const names = await Promise.all(servers.map((server) => server.namesWithoutExpiry('faults-')))
  return names.flat().map((name) => `${name} has no expiry`)
}
