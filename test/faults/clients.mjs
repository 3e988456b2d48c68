// The clients that faults are tried through, with the options that people start with. None is given a listener for errors:
// the store has to.

import { createClient, createCluster } from '@redis/client'
import { Cluster, Redis } from 'ioredis'

/**
 * A client, what closes it, and how many commands it holds that have no answer yet, where it says so.
 * @typedef {{ client: import('sluice/redis').RedisClient, connect(): void, close(): void, held(): number }} Opened
 */

/** @typedef {'ioredis' | 'node-redis'} ClientName */

/**
 * Does not connect before it is told to, so that a store can listen for errors first.
 * @param {ClientName} name
 * @param {number} port
 * @returns {Opened}
 */
export function openClient(name, port) {
  if (name === 'ioredis') {
    const client = new Redis(port, '127.0.0.1')
    return { client, connect() {}, close: () => client.disconnect(), held: () => heldBy(client) }
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}` })
  return nodeRedis(client)
}

/**
 * A client that resends nothing, so that the store writes nothing when it only looks: a replica would refuse that.
 * @param {number} port
 * @returns {Opened}
 */
export function openObserver(port) {
  const client = new Redis(port, '127.0.0.1', { autoResendUnfulfilledCommands: false })
  return { client, connect() {}, close: () => client.disconnect(), held: () => heldBy(client) }
}

/**
 * @param {ClientName} name
 * @param {readonly number[]} ports
 * @returns {Opened}
 */
export function openClusterClient(name, ports) {
  if (name === 'ioredis') {
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    const held = () => client.nodes().reduce((sum, node) => sum + heldBy(node), 0)
    return { client, connect() {}, close: () => client.disconnect(), held }
  }
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  // As the guide advises: left to itself it asks five seconds after a node has gone who has taken its place.
  const defaults = { socket: { reconnectStrategy: (/** @type {number} */ retries) => Math.min(retries * 50, 500) } }
  return nodeRedis(createCluster({ rootNodes, defaults, topologyRefreshOnReconnectionAttemptStrategy: 250 }))
}

/** @param {any} client */
function heldBy({ commandQueue, offlineQueue }) {
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
  return { client, connect, close, held: () => 0 }
}
