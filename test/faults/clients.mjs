// The Redis clients of the faults, with their usual options. None has an error listener: the store has to add one.

import { createClient, createCluster } from '@redis/client'
import { Redis as Upstash } from '@upstash/redis'
import { Cluster, Redis } from 'ioredis'

/**
 * A client, with functions that connect it, close it, and count its commands without an answer, if it reports them.
 * @typedef {{ client: import('sluice/redis').RedisClient, connect(): void, close(): void, pending(): number }} Opened
 */

/** `rest` is the address and token of Upstash's REST API. @typedef {'ioredis' | 'node-redis' | 'rest' | '@upstash/redis'} ClientName */

/**
 * Does not connect until `connect` is called, so that a store can add its error listener first.
 * @param {ClientName} name
 * @param {number} port
 * @returns {Opened}
 */
export function openClient(name, port) {
  if (name === 'ioredis') {
    const client = new Redis(port, '127.0.0.1')
    return { client, connect() {}, close: () => client.disconnect(), pending: () => pendingOf(client) }
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  return nodeRedis(client)
}

/**
 * @param {ClientName} name
 * @param {{ readonly url: string, readonly token: string }} front
 * @returns {Opened}
 */
export function openUpstash(name, { url, token }) {
  const client = name === 'rest' ? { url, token } : new Upstash({ url, token })
  return { client, connect() {}, close() {}, pending: () => 0 }
}

/**
 * A client that resends nothing. The store then writes nothing while it reads counts, and a replica would refuse writes.
 * @param {number} port
 * @returns {Opened}
 */
export function openObserver(port) {
  const client = new Redis(port, '127.0.0.1', { autoResendUnfulfilledCommands: false })
  return { client, connect() {}, close: () => client.disconnect(), pending: () => pendingOf(client) }
}

/**
 * @param {ClientName} name
 * @param {readonly number[]} ports
 * @returns {Opened}
 */
export function openClusterClient(name, ports) {
  if (name === 'ioredis') {
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    const pending = () => client.nodes().reduce((sum, node) => sum + pendingOf(node), 0)
    return { client, connect() {}, close: () => client.disconnect(), pending }
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
 * @returns {Opened}
 */
function nodeRedis(client) {
  const connect = () => void client.connect().catch(() => {})
  const close = () => {
    if (client.isOpen) client.destroy()
  }
  return { client, connect, close, pending: () => 0 }
}
