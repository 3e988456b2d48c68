// Peer: rate-limit-redis, the store of express-rate-limit, called without the middleware.

import { RedisStore } from 'rate-limit-redis'

/** @import { Connection } from '../connections.mjs' */
/** @import { Create } from '../contestants.mjs' */

export const role = 'peer'
export const packageName = 'rate-limit-redis'
export const call = 'await store.increment(key), then totalHits <= limit'
export const sends = ['evalsha', 'eval']

/** @type {Create} */
export async function create(connection, { limit, windowMs }) {
  const store = new RedisStore({ sendCommandCluster: ({ key, command }) => send(connection, key, command) })
  await store.init(/** @type {any} */ ({ windowMs }))
  return {
    hit: (key) => store.increment(key),
    isAllowed: (info) => info.totalHits <= limit,
  }
}

/**
 * ioredis sends a command without a key to any node, but the script must be loaded on all of them.
 * @param {Connection} connection
 * @param {string | undefined} key
 * @param {string[]} command
 */
function send({ clientName, isCluster, client, send }, key, command) {
  if (clientName !== 'ioredis' || !isCluster || command[0] !== 'SCRIPT') return send(key, command)
  const [name, ...args] = command
  const primaries = client.nodes('master')
  return Promise.all(primaries.map((/** @type {any} */ node) => node.call(name, ...args))).then(([sha1]) => sha1)
}
