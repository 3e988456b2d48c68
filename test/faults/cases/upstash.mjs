// Upstash's REST API: requests are executed and their answers lost, or the front is away. @upstash/redis has its default options, so
// it sends requests again.

import { setTimeout as pause } from 'node:timers/promises'
import { serverBehindFront } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof serverBehindFront>>>} FrontFault */

/** @type {FrontFault} */
export const restLost = {
  name: 'rest-lost',
  what: "hits over Upstash's REST API are counted and the connections cut before the answers",
  targets: [
    { client: 'rest', then: 'local', processes: 2 },
    { client: 'rest', then: 'throw' },
    { client: '@upstash/redis', then: 'local' },
    { client: '@upstash/redis', then: 'throw' },
  ],
  startEnvironment: serverBehindFront,
  async inject({ front }) {
    front.fate = 'lost'
    await pause(700)
    front.fate = undefined
  },
  expects: { refused: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {FrontFault} */
export const restRefused = {
  name: 'rest-refused',
  what: "connections to Upstash's REST API are cut, and new ones refused for a second",
  targets: [
    { client: 'rest', then: 'local', processes: 2 },
    { client: 'rest', then: 'deny' },
    { client: '@upstash/redis', then: 'local' },
  ],
  startEnvironment: serverBehindFront,
  async inject({ front }) {
    await front.stop()
    await pause(1000)
    await front.start()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}
