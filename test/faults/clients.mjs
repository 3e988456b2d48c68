// The clients of the faults, with their usual options. None of Redis has an error listener: the store has to add one.

import { createClient, createCluster } from '@redis/client'
import { Redis as Upstash } from '@upstash/redis'
import { Cluster, Redis } from 'ioredis'
import { redisStore } from 'sluice/redis'

/** @import { Store } from 'sluice' */

/**
 * A client, with functions that make a store with names of its own, connect the client, close it, and count its commands without an
 * answer, if it reports them.
 * @typedef {{ makeStore(prefix: string): Store, connect(): void, close(): void, pending(): number }} Opened
 */

/** @typedef {Omit<Opened, 'makeStore'> & { client: import('sluice/redis').RedisClient, makeStore(prefix: string): Store<'async'> }} OpenedRedis */

/**
 * `rest` is the address and token of Upstash's REST API.
 * @typedef {'ioredis' | 'node-redis' | 'rest' | '@upstash/redis' | 'sqlite' | 'pg' | 'postgres.js' | 'mysql2' | 'memcached' | 'durable-object'} ClientName
 */

/**
 * @param {Omit<OpenedRedis, 'makeStore'>} opened
 * @returns {OpenedRedis}
 */
function withStore(opened) {
  return { ...opened, makeStore: (prefix) => redisStore(opened.client, { prefix }) }
}

/**
 * Does not connect until `connect` is called, so that a store can add its error listener first.
 * @param {ClientName} name
 * @param {number} port
 * @returns {OpenedRedis}
 */
export function openClient(name, port) {
  if (name === 'ioredis') {
    const client = new Redis(port, '127.0.0.1')
    return withStore({ client, connect() {}, close: () => client.disconnect(), pending: () => pendingOf(client) })
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  return nodeRedis(client)
}

/**
 * @param {ClientName} name
 * @param {{ readonly url: string, readonly token: string }} front
 * @returns {OpenedRedis}
 */
export function openUpstash(name, { url, token }) {
  const client = name === 'rest' ? { url, token } : new Upstash({ url, token })
  return withStore({ client, connect() {}, close() {}, pending: () => 0 })
}

/**
 * A client that resends nothing. The store then writes nothing while it reads counts, and a replica would refuse writes.
 * @param {number} port
 * @returns {OpenedRedis}
 */
export function openObserver(port) {
  const client = new Redis(port, '127.0.0.1', { autoResendUnfulfilledCommands: false })
  return withStore({ client, connect() {}, close: () => client.disconnect(), pending: () => pendingOf(client) })
}

/**
 * @param {ClientName} name
 * @param {readonly number[]} ports
 * @returns {OpenedRedis}
 */
export function openClusterClient(name, ports) {
  if (name === 'ioredis') {
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    const pending = () => client.nodes().reduce((sum, node) => sum + pendingOf(node), 0)
    return withStore({ client, connect() {}, close: () => client.disconnect(), pending })
  }
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  // As the guide advises. By default this client looks for a new node only five seconds after the old one has gone.
  const defaults = { socket: { reconnectStrategy: (/** @type {number} */ retries) => Math.min(retries * 50, 500) } }
  return nodeRedis(createCluster({ rootNodes, defaults, topologyRefreshOnReconnectionAttemptStrategy: 250 }))
}

/** @param {any} client */
function pendingOf({ commandQueue, offlineQueue }) {
  return commandQueue.length + offlineQueue.length
}

/**
 * @param {any} client
 * @returns {OpenedRedis}
 */
function nodeRedis(client) {
  const connect = () => void client.connect().catch(() => {})
  const close = () => {
    if (client.isOpen) client.destroy()
  }
  return withStore({ client, connect, close, pending: () => 0 })
}
