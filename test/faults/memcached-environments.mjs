// The memcached servers that faults run against.

import { memcachedStore } from 'sluice/memcached'
import { startMemcached } from '../servers/memcached-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'

/** @import { Opened } from './clients.mjs' */

/**
 * Servers, each behind a proxy of its own.
 * @param {number} count
 * @param {...string} args of memcached
 */
export async function memcachedServers(count, ...args) {
  const servers = await Promise.all(Array.from({ length: count }, () => startMemcached(...args)))
  const proxies = await Promise.all(servers.map(({ port }) => startProxy(port)))
  const through = proxies.map(({ port }) => `127.0.0.1:${port}`)
  return {
    memcached: servers,
    proxies,
    open: () => openMemcached(through),
    // The same addresses: the choice of a server depends on them.
    openObserver: () => openMemcached(through),
    servers: () => servers,
    async leftovers() {
      const names = await Promise.all(servers.map((server) => server.namesWithoutExpiry('faults-')))
      return names.flat().map((name) => `${name} has no expiry`)
    },
    async stop() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/**
 * @param {readonly string[]} servers addresses
 * @returns {Opened}
 */
function openMemcached(servers) {
  return { makeStore: (prefix) => memcachedStore({ servers, prefix }), connect() {}, close() {}, pending: () => 0 }
}
