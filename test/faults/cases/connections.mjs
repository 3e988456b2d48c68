// Connections that break, answers that get lost: what was asked may have been done, and must not be asked again.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer, serverBehindProxy } from '../scenes.mjs'

/** @import { Fault } from '../run-fault.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof serverBehindProxy>>>} ProxyFault */

/** @type {Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const clientKill = {
  name: 'client-kill',
  what: 'CLIENT KILL TYPE normal, three times',
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  setTheScene: () => oneServer(),
  async strike({ server }) {
    for (let i = 0; i < 3; i++) {
      await server.cli('CLIENT', 'KILL', 'TYPE', 'normal')
      await pause(300)
    }
  },
  expects: { fatal: 'none' },
}

/** @type {ProxyFault} */
export const refused = {
  name: 'connection-refused',
  what: 'connections are reset, and new ones refused for a second',
  subjects: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'node-redis', then: 'local' },
    { client: 'node-redis', then: 'throw' },
  ],
  setTheScene: serverBehindProxy,
  async strike({ proxy }) {
    await proxy.stop()
    await pause(1000)
    await proxy.start()
  },
  expects: { refused: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {ProxyFault} */
export const lostReplies = {
  name: 'lost-replies',
  what: 'hits are counted and their answers lost; then the connections are reset',
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'allow' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  setTheScene: serverBehindProxy,
  async strike({ proxy }) {
    proxy.weather = { loseDown: true }
    await pause(700)
    proxy.weather = {}
    proxy.reset()
  },
  expects: { timeout: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
