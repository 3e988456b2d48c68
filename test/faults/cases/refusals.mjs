// The server answers with an error. Nothing was counted.

import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../servers/redis-server.mjs'
import { oneServer } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../assertions.mjs' */
/** @import { TargetOptions } from '../target.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof oneServer>>>} ServerFault */

/** @type {ExpectedCounts} */
const REFUSALS = { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' }

/**
 * Denied hits write nothing. They are answered if the client resends nothing, so not all hits in a row fail.
 * @type {ExpectedCounts}
 */
const REFUSED_WRITES = { ...REFUSALS, 'not-asked': 'any' }

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'ioredis', then: 'local' },
  { client: 'node-redis', then: 'local' },
  { client: 'ioredis', then: 'deny' },
]

const FOR_MS = 700

/** @type {ServerFault} */
export const readonly = {
  name: 'readonly',
  what: 'the primary is demoted, and promoted again: READONLY',
  targets: TARGETS,
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    await server.cli('REPLICAOF', '127.0.0.1', await freePort())
    await pause(FOR_MS)
    await server.cli('REPLICAOF', 'NO', 'ONE')
  },
  expects: REFUSED_WRITES,
}

/** @type {ServerFault} */
export const masterdown = {
  ...readonly,
  name: 'masterdown',
  what: 'demoted, its primary out of reach, and set to serve nothing stale: MASTERDOWN',
  startEnvironment: () => oneServer('--replica-serve-stale-data', 'no'),
  expects: REFUSALS,
}

/** @type {ServerFault} */
export const loading = {
  name: 'loading',
  what: 'DEBUG RELOAD, slowed down: LOADING',
  targets: TARGETS,
  async startEnvironment() {
    const environment = await oneServer('--enable-debug-command', 'local')
    await environment.server.cli('DEBUG', 'POPULATE', 6000, 'filler', 100)
    // The interval at which the server serves clients while it loads.
    await environment.server.cli('CONFIG', 'SET', 'loading-process-events-interval-bytes', 1024)
    await environment.server.cli('CONFIG', 'SET', 'key-load-delay', 50)
    return environment
  },
  async inject({ server }) {
    await server.cli('DEBUG', 'RELOAD')
  },
  expects: REFUSALS,
}

/** @type {ServerFault} */
export const busy = {
  name: 'busy',
  what: 'a script that does not end, until SCRIPT KILL: BUSY',
  targets: TARGETS,
  async startEnvironment() {
    const environment = await oneServer()
    await environment.server.cli('CONFIG', 'SET', 'busy-reply-threshold', 50)
    return environment
  },
  async inject({ server }) {
    const script = server.cli('EVAL', 'while true do end', 0)
    await pause(FOR_MS)
    await server.cli('SCRIPT', 'KILL')
    await script
  },
  // The server is silent until the threshold.
  expects: { ...REFUSALS, timeout: 'any' },
}

/** @type {ServerFault} */
export const oom = {
  name: 'oom',
  what: 'maxmemory is reached, and nothing may be evicted: OOM',
  targets: TARGETS,
  startEnvironment: () => oneServer('--maxmemory-policy', 'noeviction'),
  async inject({ server }) {
    await server.cli('CONFIG', 'SET', 'maxmemory', 1)
    await pause(FOR_MS)
    await server.cli('CONFIG', 'SET', 'maxmemory', 0)
  },
  expects: REFUSED_WRITES,
}

/** @type {ServerFault} */
export const noreplicas = {
  name: 'noreplicas',
  what: 'fewer replicas than min-replicas-to-write: NOREPLICAS',
  targets: TARGETS,
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    await server.cli('CONFIG', 'SET', 'min-replicas-to-write', 1)
    await pause(FOR_MS)
    await server.cli('CONFIG', 'SET', 'min-replicas-to-write', 0)
  },
  expects: REFUSED_WRITES,
}

/** @type {ServerFault} */
export const noPermission = {
  name: 'no-permission',
  what: 'the user may not run scripts: NOPERM',
  targets: TARGETS,
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    await server.cli('ACL', 'SETUSER', 'default', '-@scripting')
    await pause(FOR_MS)
    await server.cli('ACL', 'SETUSER', 'default', '+@all')
  },
  // The store answers at once, so every call is sent to it.
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'some', 'not-asked': 'none', recovered: 'none' },
}
