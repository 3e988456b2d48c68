// Every kind of client that mysql2 makes, connected to a real server.

import * as callback from 'mysql2'
import * as promise from 'mysql2/promise'
import type { MysqlClient, MysqlQuery } from '../../src/stores/mysql/mysql-client.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

export interface Connected {
  readonly client: MysqlClient
  close(): unknown
}

export type Address = callback.PoolOptions
type Connect = (address: Address) => Promise<Connected>

export const CLIENTS: Readonly<Record<string, Connect>> = {
  async 'a pool'(address) {
    const client = promise.createPool(address)
    return { client, close: () => client.end() }
  },
  async 'a pool of the callback API'(address) {
    const client = callback.createPool(address)
    return { client, close: () => client.promise().end() }
  },
  async 'a connection'(address) {
    const client = await promise.createConnection(address)
    return { client, close: () => client.destroy() }
  },
  async 'a connection of the callback API'(address) {
    const client = callback.createConnection(address)
    return { client, close: () => client.destroy() }
  },
  async 'a pool that MySQL would answer, statement by statement'(address) {
    const client = promise.createPool(address)
    return { client: asOfMysql(client), close: () => client.end() }
  },
}

/** Pools that differ little from the others. Their suites run in long rounds only. */
export const MORE_CLIENTS: Readonly<Record<string, Connect>> = {
  async 'a pool with one connection'(address) {
    const client = promise.createPool({ ...address, connectionLimit: 1 })
    return { client, close: () => client.end() }
  },
  async 'a cluster of one pool'(address) {
    const cluster = promise.createPoolCluster()
    cluster.add('only', address)
    return { client: cluster.of('*'), close: () => cluster.end() }
  },
  async 'a pool that MySQL would answer, with multipleStatements'(address) {
    const client = promise.createPool({ ...address, multipleStatements: true })
    return { client: asOfMysql(client), close: () => client.end() }
  },
}

/** A client for the tests that follow. */
export function clientFor(connect: Connect, address: () => Address): Later<Connected> {
  return beforeTests(
    () => connect(address()),
    (connected) => connected.close(),
  )
}

/** A pool whose connections run statements before all others. */
export function poolWith(address: Address, ...statements: string[]): promise.Pool {
  const pool = promise.createPool(address)
  pool.on('connection', (connection) => {
    for (const statement of statements) (connection as unknown as callback.Connection).query(statement)
  })
  return pool
}

export type Ask = (query: MysqlQuery) => Promise<unknown>

/** A pool whose queries go through `pass`, which may look at them, answer them, or fail them. */
export function throughPool(pool: promise.Pool, pass: (query: MysqlQuery, ask: Ask) => Promise<unknown>) {
  return {
    async getConnection() {
      const connection = await pool.getConnection()
      return {
        query: (query: MysqlQuery) => pass(query, (asked) => connection.query(asked as callback.QueryOptions)),
        execute: () => {},
        release: () => connection.release(),
        destroy: () => connection.destroy(),
        connection: { config: (connection.connection as unknown as { config: object }).config },
      }
    },
  }
}

/** A pool whose server says that it is MySQL, which has no compound statements. */
export function asOfMysql(pool: promise.Pool): MysqlClient {
  return throughPool(pool, async (query, ask) => (query.sql === 'SELECT VERSION()' ? [[['8.4.3']], [{}]] : ask(query)))
}
