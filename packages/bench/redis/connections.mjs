// One client with default options, connected to one server or to a cluster. A client of a cluster keeps one connection to
// each primary.

import { createClient, createCluster } from '@redis/client'
import { Cluster, Redis } from 'ioredis'

/**
 * The ports of the servers on loopback. For a cluster, the ports of the primaries.
 * @typedef {{ isCluster: boolean, ports: number[] }} Place
 */

/** @typedef {'server' | 'cluster'} PlaceName */

/**
 * `send` sends any command through the client's own method. A cluster routes it by `key`.
 * @typedef {object} Connection
 * @property {string} clientName
 * @property {boolean} isCluster
 * @property {any} client
 * @property {(key: string | undefined, command: string[]) => Promise<any>} send
 * @property {() => void} close
 */

const CLIENTS = { ioredis: connectIoredis, 'node-redis': connectNodeRedis }

/** @typedef {keyof typeof CLIENTS} ClientName */

/**
 * @param {ClientName} clientName
 * @param {Place} place
 * @returns {Promise<Connection>}
 */
export async function connect(clientName, place) {
  return { clientName, isCluster: place.isCluster, ...(await CLIENTS[clientName](place)) }
}

/** @param {Place} place */
async function connectIoredis({ isCluster, ports }) {
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
  const client = isCluster ? new Cluster(nodes) : new Redis(nodes[0])
  await new Promise((resolve, reject) => client.once('ready', resolve).once('error', reject))
  return {
    client,
    send: (/** @type {string | undefined} */ _key, /** @type {string[]} */ [name, ...args]) => client.call(name, ...args),
    close: () => client.disconnect(),
  }
}

/** @param {Place} place */
async function connectNodeRedis({ isCluster, ports }) {
  const nodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  const client = isCluster ? createCluster({ rootNodes: nodes }) : createClient(nodes[0])
  await client.connect()
  const sendCommand = /** @type {any} */ (client).sendCommand.bind(client)
  return {
    client,
    send: (/** @type {string | undefined} */ key, /** @type {string[]} */ command) =>
      isCluster ? sendCommand(key, false, command) : sendCommand(command),
    close: () => client.destroy(),
  }
}
