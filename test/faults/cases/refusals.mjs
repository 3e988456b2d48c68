// A server that is there, and says no: certainly nothing was counted.

import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../servers/redis-server.mjs'
import { oneServer } from '../scenes.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../oracles.mjs' */
/** @import { Plan } from '../subject.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof oneServer>>>} ServerFault */

/** @type {ExpectedCounts} */
const REFUSALS = { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' }

/**
 * Hits that are denied write nothing, and are answered all the same where the client resends nothing: not all fail in a row.
 * @type {ExpectedCounts}
 */
const REFUSED_WRITES = { ...REFUSALS, 'not-asked': 'any' }

/** @type {readonly Plan[]} */
const SUBJECTS = [
  { client: 'ioredis', then: 'local' },
  { client: 'node-redis', then: 'local' },
  { client: 'ioredis', then: 'deny' },
]

const FOR_MS = 700

/** @type {ServerFault} */
export const readonly = {
  name: 'readonly',
  what: 'the primary is demoted, and promoted again: READONLY',
  subjects: SUBJECTS,
  setTheScene: () => oneServer(),
  async strike({ server }) {
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
  setTheScene: () => oneServer('--replica-serve-stale-data', 'no'),
  expects: REFUSALS,
}

/** @type {ServerFault} */
export const loading = {
  name: 'loading',
  what: 'DEBUG RELOAD, slowed down: LOADING',
  subjects: SUBJECTS,
  async setTheScene() {
    const scene = await oneServer('--enable-debug-command', 'local')
    await scene.server.cli('DEBUG', 'POPULATE', 6000, 'filler', 100)
    // How often the server looks at its clients while it loads.
    await scene.server.cli('CONFIG', 'SET', 'loading-process-events-interval-bytes', 1024)
    await scene.server.cli('CONFIG', 'SET', 'key-load-delay', 50)
    return scene
  },
  async strike({ server }) {
    await server.cli('DEBUG', 'RELOAD')
  },
  expects: REFUSALS,
}

/** @type {ServerFault} */
export const busy = {
  name: 'busy',
  what: 'a script that does not end, until SCRIPT KILL: BUSY',
  subjects: SUBJECTS,
  async setTheScene() {
    const scene = await oneServer()
    await scene.server.cli('CONFIG', 'SET', 'busy-reply-threshold', 50)
    return scene
  },
  async strike({ server }) {
    const script = server.cli('EVAL', 'while true do end', 0)
    await pause(FOR_MS)
    await server.cli('SCRIPT', 'KILL')
    await script
  },
  // Until the threshold it is silent.
  expects: { ...REFUSALS, timeout: 'any' },
}

/** @type {ServerFault} */
export const oom = {
  name: 'oom',
  what: 'maxmemory is reached, and nothing may be evicted: OOM',
  subjects: SUBJECTS,
  setTheScene: () => oneServer('--maxmemory-policy', 'noeviction'),
  async strike({ server }) {
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
  subjects: SUBJECTS,
  setTheScene: () => oneServer(),
  async strike({ server }) {
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
  subjects: SUBJECTS,
  setTheScene: () => oneServer(),
  async strike({ server }) {
    await server.cli('ACL', 'SETUSER', 'default', '-@scripting')
    await pause(FOR_MS)
    await server.cli('ACL', 'SETUSER', 'default', '+@all')
  },
  // The store is there and answers at once: it is asked each time.
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'some', 'not-asked': 'none', recovered: 'none' },
}
