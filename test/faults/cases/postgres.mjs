// Faults of Postgres: it crashes, freezes, refuses, ends connections, and its answers are lost.

import { setTimeout as pause } from 'node:timers/promises'
import { noPostgres, onePostgres, postgresBehindProxy } from '../postgres-environments.mjs'

/** @import { Environment, Fault } from '../run-fault.mjs' */
/** @import { StoreOptions } from '../postgres-environments.mjs' */
/** @import { TargetOptions } from '../target.mjs' */

/**
 * A fault whose environment takes options of the stores.
 * @template {Environment} E
 * @typedef {Omit<Fault<E>, 'startEnvironment'> & { startEnvironment(options?: StoreOptions): Promise<E> }} PostgresFault
 */
/** @typedef {PostgresFault<Awaited<ReturnType<typeof onePostgres>>>} ServerFault */
/** @typedef {PostgresFault<Awaited<ReturnType<typeof postgresBehindProxy>>>} ProxyFault */

/**
 * The same fault with stores whose functions decide. The first hits make the functions, and on a busy machine that may take longer than
 * their deadline.
 * @template {Environment} E
 * @param {PostgresFault<E>} fault
 * @returns {PostgresFault<E>}
 */
export function inFunctions(fault) {
  const { timeout, ...expects } = fault.expects
  return {
    ...fault,
    expects,
    name: fault.name.replace('postgres-', 'functions-'),
    what: `${fault.what}; mode function`,
    startEnvironment: () => fault.startEnvironment({ mode: 'function' }),
  }
}

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'pg', then: 'local', processes: 2 },
  { client: 'pg', then: 'throw' },
  { client: 'postgres.js', then: 'local' },
  { client: 'postgres.js', then: 'deny' },
]

/** @type {ServerFault} */
export const postgresCrash = {
  name: 'postgres-crash',
  what: 'an immediate stop, and 500 ms later the same server; durable: true loses nothing',
  targets: TARGETS,
  startEnvironment: (options) => onePostgres({ durable: true, ...options }),
  async inject({ server }) {
    await server.crash()
    await pause(500)
    await server.start()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ServerFault} */
export const postgresUnlogged = {
  ...postgresCrash,
  name: 'postgres-unlogged',
  what: 'the same with unlogged: true: Postgres empties the table',
  startEnvironment: (options) => onePostgres({ unlogged: true, ...options }),
  forgets: 1,
}

/** @type {PostgresFault<Awaited<ReturnType<typeof noPostgres>>>} */
export const postgresLateStart = {
  name: 'postgres-late-start',
  what: 'no server at first; it comes later',
  targets: TARGETS,
  startEnvironment: noPostgres,
  async inject({ server }) {
    await pause(350)
    await server.start()
  },
  expects: { unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ServerFault} */
export const postgresFrozen = {
  name: 'postgres-frozen',
  what: 'SIGSTOP for all its processes, and SIGCONT after a second',
  targets: TARGETS,
  startEnvironment: onePostgres,
  async inject({ server }) {
    server.signal('SIGSTOP')
    await pause(1000)
    server.signal('SIGCONT')
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ServerFault} */
export const postgresTerminated = {
  name: 'postgres-terminated',
  what: 'pg_terminate_backend for all connections, three times',
  targets: TARGETS,
  startEnvironment: onePostgres,
  async inject({ server }) {
    const others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
    for (let i = 0; i < 3; i++) {
      await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`)
      await pause(300)
    }
  },
  expects: { fatal: 'none' },
}

/** @type {ServerFault} */
export const postgresReadOnly = {
  name: 'postgres-read-only',
  what: 'default_transaction_read_only, as a failover manager sets it',
  targets: TARGETS,
  startEnvironment: onePostgres,
  async inject({ server }) {
    await server.query('ALTER SYSTEM SET default_transaction_read_only = on')
    await server.query('SELECT pg_reload_conf()')
    await pause(700)
    await server.query('ALTER SYSTEM RESET default_transaction_read_only')
    await server.query('SELECT pg_reload_conf()')
  },
  expects: { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ProxyFault} */
export const postgresLostReplies = {
  name: 'postgres-lost-replies',
  what: 'answers are lost, and transactions stay open with their locks; then the connections are reset',
  targets: TARGETS,
  startEnvironment: postgresBehindProxy,
  async inject({ proxy }) {
    proxy.conditions = { loseDown: true }
    await pause(700)
    proxy.conditions = {}
    proxy.reset()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ProxyFault} */
export const postgresRefused = {
  name: 'postgres-refused',
  what: 'connections are reset, and new ones refused for a second',
  targets: TARGETS,
  startEnvironment: postgresBehindProxy,
  async inject({ proxy }) {
    await proxy.stop()
    await pause(1000)
    await proxy.start()
  },
  expects: { refused: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ServerFault} */
export const functionsDropped = {
  name: 'functions-dropped',
  what: 'somebody drops each function alone; mode function',
  targets: TARGETS,
  startEnvironment: () => onePostgres({ mode: 'function' }),
  async inject({ server }) {
    const functions = await server.query("SELECT oid::regprocedure::text AS name FROM pg_proc WHERE proname LIKE 'sluice\\_%'")
    for (const { name } of functions) {
      await server.query(`DROP FUNCTION IF EXISTS ${name}`)
      await pause(50)
    }
  },
  expects: { refused: 'none', unknown: 'none', fatal: 'none' },
}
