// Durable Objects: workerd killed and started again on the same disk, frozen, out of reach, and answers that are lost.

import { setTimeout as pause } from 'node:timers/promises'
import { objectsBehindProxy } from '../object-environments.mjs'

/** @import { TargetOptions } from '../target.mjs' */
/** @import { Fault } from '../run-fault.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof objectsBehindProxy>>>} ObjectFault */

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'durable-object', then: 'local', processes: 2 },
  { client: 'durable-object', then: 'deny' },
]

const FOR_MS = 700

/** A message costs workerd far more than a command costs Redis, so there are fewer of them, with a longer deadline. */
const LOAD = { perSecond: 100, warmUpMs: 1800, timeoutMs: 400 }

/** @type {ObjectFault} */
export const objectsKilled = {
  name: 'objects-killed',
  what: 'SIGKILL of workerd, and 500 ms later a start on the same disk',
  ...LOAD,
  targets: TARGETS,
  startEnvironment: objectsBehindProxy,
  async inject({ server }) {
    await server.kill()
    await pause(500)
    await server.start()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/**
 * @param {number} forMs
 * @returns {ObjectFault}
 */
export function objectsFrozen(forMs) {
  return {
    name: 'objects-frozen',
    what: `SIGSTOP of workerd, and SIGCONT after ${forMs} ms`,
    ...LOAD,
    targets: TARGETS,
    startEnvironment: objectsBehindProxy,
    async inject({ server }) {
      server.signal('SIGSTOP')
      await pause(forMs)
      server.signal('SIGCONT')
    },
    expects: { timeout: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
  }
}

/** @type {ObjectFault} */
export const objectsLost = {
  name: 'objects-lost',
  what: 'answers of objects are lost; then the connections are reset',
  ...LOAD,
  targets: TARGETS,
  startEnvironment: objectsBehindProxy,
  async inject({ proxy }) {
    proxy.conditions = { loseDown: true }
    await pause(FOR_MS)
    proxy.conditions = {}
    proxy.reset()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ObjectFault} */
export const objectsRefused = {
  name: 'objects-refused',
  what: 'connections to workerd are reset, and new ones refused for a second',
  ...LOAD,
  targets: TARGETS,
  startEnvironment: objectsBehindProxy,
  async inject({ proxy }) {
    await proxy.stop()
    await pause(1000)
    await proxy.start()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
