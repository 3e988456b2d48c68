// A server dies and restarts empty. Another server is not started yet.

import { setTimeout as pause } from 'node:timers/promises'
import { noServer, oneServer } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */

/** @type {Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const sigkill = {
  name: 'sigkill',
  what: 'SIGKILL, and 500 ms later an empty server',
  targets: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'ioredis', then: 'allow' },
    { client: 'ioredis', then: 'deny' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'local' },
    { client: 'node-redis', then: 'throw' },
  ],
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    await server.kill()
    await pause(500)
    await server.start()
  },
  forgets: 1,
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {Fault<Awaited<ReturnType<typeof noServer>>>} */
export const lateStart = {
  name: 'late-start',
  what: 'no server at first; it comes after a second',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  startEnvironment: noServer,
  async inject({ server }) {
    await pause(350)
    await server.start()
  },
  expects: { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
