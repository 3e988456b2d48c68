// A server is silent for a while, and then runs every command that it received.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../assertions.mjs' */

/** @type {ExpectedCounts} */
const SILENCE = { timeout: 'some', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' }

/**
 * @param {number} forMs
 * @returns {Fault<Awaited<ReturnType<typeof oneServer>>>}
 */
export function sigstop(forMs) {
  return {
    name: 'sigstop',
    what: `SIGSTOP, and SIGCONT after ${forMs} ms`,
    targets: [
      { client: 'ioredis', then: 'local', processes: 3 },
      { client: 'node-redis', then: 'local' },
      { client: 'ioredis', then: 'deny' },
      { client: 'node-redis', then: 'allow' },
    ],
    startEnvironment: () => oneServer(),
    async inject({ server }) {
      server.signal('SIGSTOP')
      await pause(forMs)
      server.signal('SIGCONT')
    },
    expects: SILENCE,
  }
}

/** @type {Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const clientPause = {
  name: 'client-pause',
  what: 'CLIENT PAUSE 600 WRITE',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'throw' },
  ],
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    await server.cli('CLIENT', 'PAUSE', 600, 'WRITE')
    await pause(600)
  },
  expects: SILENCE,
}
