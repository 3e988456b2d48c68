// The Postgres servers that faults run against, and the clients that reach them. Each target has a table of its own.

import pg from 'pg'
import postgres from 'postgres'
import { postgresStore } from 'sluice/postgres'
import { PostgresServer, startPostgres } from '../servers/postgres-server.mjs'
import { freePort } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'

/** @import { PostgresStoreOptions } from 'sluice/postgres' */
/** @import { ClientName, Opened } from './clients.mjs' */

/**
 * Options of the stores. The default mode is `transaction`.
 * @typedef {Pick<PostgresStoreOptions, 'unlogged' | 'durable' | 'mode'>} StoreOptions
 */

/** @param {StoreOptions} [options] */
export async function onePostgres(options = {}) {
  return environmentOf(await startPostgres(), options)
}

/**
 * A server that has not been started.
 * @param {StoreOptions} [options]
 */
export async function noPostgres(options = {}) {
  return environmentOf(new PostgresServer(await freePort(), {}), options)
}

/** @param {StoreOptions} [options] */
export async function postgresBehindProxy(options = {}) {
  const server = await startPostgres()
  const proxy = await startProxy(server.port)
  return {
    ...environmentOf(server, options),
    proxy,
    open: (/** @type {ClientName} */ name) => openClient(name, proxy.port, options),
    async stop() {
      await proxy.stop()
      await server.stop()
    },
  }
}

/**
 * @param {PostgresServer} server
 * @param {StoreOptions} options
 */
function environmentOf(server, options) {
  return {
    server,
    open: (/** @type {ClientName} */ name) => openClient(name, server.port, options),
    openObserver: () => openClient('pg', server.port, options),
    servers: () => [server],
    leftovers: () => emptyRows(server),
    stop: () => server.stop(),
  }
}

/**
 * @param {ClientName} name
 * @param {number} port
 * @param {StoreOptions} options
 * @returns {Opened}
 */
function openClient(name, port, options) {
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const { client, close } = name === 'pg' ? openPool(url) : openPostgresJs(url)
  return {
    makeStore: (prefix) => postgresStore(client, { table: prefix.replaceAll('-', '_'), mode: 'transaction', ...options }),
    connect() {},
    close: () => void close().catch(() => {}),
    pending: () => 0,
  }
}

/** @param {string} connectionString */
function openPool(connectionString) {
  const client = new pg.Pool({ connectionString })
  return { client, close: () => client.end() }
}

/**
 * Without `backoff`, this client waits for up to a minute before it connects again. With `fetch_types`, a connection that is lost while
 * it is being made causes an unhandled rejection inside of the client.
 * @param {string} url
 */
function openPostgresJs(url) {
  const client = postgres(url, { backoff: () => 0.1, fetch_types: false, onnotice: () => {} })
  return { client, close: () => client.end({ timeout: 0 }) }
}

/**
 * Rows that a transaction inserted as locks. It deletes them before it ends.
 * @param {PostgresServer} server
 */
async function emptyRows(server) {
  const tables = await server.query("SELECT relname FROM pg_class WHERE relname ~ '^faults_[0-9]+$'")
  const wrong = []
  for (const { relname } of tables) {
    const rows = await server.query(`SELECT name FROM ${relname} WHERE cardinality(value) = 0`)
    wrong.push(...rows.map(({ name }) => `${name} has no value`))
  }
  return wrong
}
