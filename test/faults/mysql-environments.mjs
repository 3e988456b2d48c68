// The MariaDB servers that faults run against, and the pool that reaches them through a proxy. Each target has a table of its own.

import { createPool } from 'mysql2/promise'
import { mysqlStore } from 'sluice/mysql'
import { MariadbServer, startMariadb } from '../servers/mariadb-server.mjs'
import { freePort } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'

/** @import { PoolOptions } from 'mysql2' */
/** @import { Opened } from './clients.mjs' */

export async function mariadbBehindProxy() {
  return behindProxy(await startMariadb())
}

/** A server that has not been started. */
export async function noMariadb() {
  return behindProxy(new MariadbServer(await freePort(), []))
}

/**
 * The table of a target.
 * @param {string} prefix
 */
export function tableOf(prefix) {
  return prefix.replaceAll('-', '_')
}

/** @param {MariadbServer} server */
async function behindProxy(server) {
  const proxy = await startProxy(server.port)
  return {
    server,
    proxy,
    open: () => openClient({ ...server.address, port: proxy.port }),
    openObserver: () => openClient(server.address),
    servers: () => [server],
    leftovers: () => rowsWithoutEnd(server),
    async stop() {
      await proxy.stop()
      await server.stop()
    },
  }
}

/**
 * @param {PoolOptions} address
 * @returns {Opened}
 */
function openClient(address) {
  const pool = createPool(address)
  return {
    makeStore: (prefix) => mysqlStore(pool, { table: tableOf(prefix) }),
    connect() {},
    close: () => void pool.end().catch(() => {}),
    pending: () => 0,
  }
}

/**
 * Rows that a sweep would delete too early, or never. The windows of all targets last an hour.
 * @param {MariadbServer} server
 */
async function rowsWithoutEnd(server) {
  const wrong = []
  const tables = await server.admin("SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'faults\\_%'")
  for (const { name: table } of tables) {
    const isLive = 'ends_at BETWEEN UNIX_TIMESTAMP() * 1000 AND (UNIX_TIMESTAMP() + 3601) * 1000'
    const rows = await server.admin(`SELECT name FROM ${table} WHERE NOT ${isLive}`)
    wrong.push(...rows.map(({ name }) => `${name} does not end with its window`))
  }
  return wrong
}
