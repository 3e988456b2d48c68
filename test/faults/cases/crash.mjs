// A server that dies and comes back with nothing, and one that is not there yet.

import { setTimeout as pause } from 'node:timers/promises'
import { noServer, oneServer } from '../scenes.mjs'

/** @import { Fault } from '../run-fault.mjs' */

/** @type {Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const sigkill = {
  name: 'sigkill',
  what: 'SIGKILL, and 500 ms later an empty server',
  subjects: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'ioredis', then: 'allow' },
    { client: 'ioredis', then: 'deny' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'local' },
    { client: 'node-redis', then: 'throw' },
  ],
  setTheScene: () => oneServer(),
  async strike({ server }) {
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
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  setTheScene: noServer,
  async strike({ server }) {
    await pause(350)
    await server.start()
  },
  expects: { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
