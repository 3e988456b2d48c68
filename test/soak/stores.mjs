// The shared stores that a soak can run on, each with what the faults do to it. A store that was killed loses no answered command.

import { PostgresServer } from '../servers/postgres-server.mjs'
import { freePort, RedisServer } from '../servers/redis-server.mjs'

/**
 * @typedef {object} SoakStore
 * @property {string} name
 * @property {string} url for `--store`
 * @property {() => readonly number[]} pids of the server and its connections
 * @property {() => Promise<void>} start starts it, also after `kill`
 * @property {() => Promise<void>} kill
 * @property {(signal: 'SIGSTOP' | 'SIGCONT') => void} signal
 * @property {() => Promise<void>} empty deletes counts and records
 * @property {() => Promise<number>} dataBytes
 * @property {() => Promise<void>} stop
 */

/** Makes a store that is not started. @typedef {() => Promise<SoakStore>} MakeStore */

/**
 * Redis writes each command to its file before it answers. Only the process is killed, not the machine, so no answered
 * command is lost, even without a sync to the disk.
 */
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'no']

/** @type {MakeStore} */
async function redis() {
  const server = new RedisServer(await freePort(), PERSISTENT)
  return {
    name: 'redis',
    url: `redis://127.0.0.1:${server.port}`,
    pids: () => (server.process?.pid === undefined ? [] : [server.process.pid]),
    start: () => server.start(),
    kill: () => server.kill(),
    signal: (signal) => server.signal(signal),
    empty: async () => void (await server.cli('FLUSHALL')),
    dataBytes: async () => Number(/^used_memory:(\d+)/m.exec(await server.cli('INFO', 'memory'))?.[1]),
    stop: () => server.stop(),
  }
}

/** The statement that empties all tables of Sluice, and keeps their shape, as a restore of an empty copy would. */
const EMPTY = `DO $$ DECLARE names text; BEGIN
  SELECT string_agg(quote_ident(tablename), ', ') INTO names FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'sluice%';
  EXECUTE 'TRUNCATE ' || names;
END $$`

/** The statement locks all tables, one after the other, so it may meet transactions that do the same in another order. */
const MOST_DEADLOCKS = 20

/** @param {PostgresServer} server */
async function emptyPostgres(server) {
  for (let left = MOST_DEADLOCKS; ; left--) {
    try {
      await server.query(EMPTY)
      return
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== '40P01' || left === 0) throw error
    }
  }
}

/** @type {MakeStore} */
async function postgres() {
  const server = new PostgresServer(await freePort(), { autovacuum: 'on' })
  return {
    name: 'postgres',
    url: server.url,
    pids: () => server.pids(),
    start: () => server.start(),
    kill: () => server.crash(),
    signal: (signal) => server.signal(signal),
    empty: () => emptyPostgres(server),
    dataBytes: async () => Number((await server.query('SELECT pg_database_size(current_database()) AS bytes'))[0].bytes),
    stop: () => server.stop(),
  }
}

/** @type {Readonly<Record<string, MakeStore>>} */
export const STORES = { redis, postgres }
