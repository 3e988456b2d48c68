// Connections break and answers get lost. The command may have run, so it must not be sent again.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer, serverBehindProxy } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof serverBehindProxy>>>} ProxyFault */

/** @type {Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const clientKill = {
  name: 'client-kill',
  what: 'CLIENT KILL TYPE normal, three times',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  startEnvironment: () => oneServer(),
  async inject({ server }) {
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
  targets: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'node-redis', then: 'local' },
    { client: 'node-redis', then: 'throw' },
  ],
  startEnvironment: serverBehindProxy,
  async inject({ proxy }) {
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
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'allow' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  startEnvironment: serverBehindProxy,
  async inject({ proxy }) {
    proxy.conditions = { loseDown: true }
    await pause(700)
    proxy.conditions = {}
    proxy.reset()
  },
  expects: { timeout: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
