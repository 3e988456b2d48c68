// Memcached: killed, frozen, out of reach, emptied, slow; and one of three servers that is away while the others go on.

import { setTimeout as pause } from 'node:timers/promises'
import { memcachedServers } from '../memcached-environments.mjs'

/** @import { TargetOptions } from '../target.mjs' */
/** @import { Fault } from '../run-fault.mjs' */

/** @typedef {Fault<Awaited<ReturnType<typeof memcachedServers>>>} MemcachedFault */

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'memcached', then: 'local', processes: 2 },
  { client: 'memcached', then: 'allow' },
  { client: 'memcached', then: 'deny' },
  { client: 'memcached', then: 'throw' },
]

const FOR_MS = 700

/** @type {MemcachedFault} */
export const memcachedKilled = {
  name: 'memcached-killed',
  what: 'SIGKILL, and 500 ms later an empty memcached',
  targets: TARGETS,
  startEnvironment: () => memcachedServers(1),
  async inject({ memcached: [server] }) {
    await server.kill()
    await pause(500)
    await server.start()
  },
  forgets: 1,
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/**
 * @param {number} forMs
 * @returns {MemcachedFault}
 */
export function memcachedFrozen(forMs) {
  return {
    name: 'memcached-frozen',
    what: `SIGSTOP, and SIGCONT after ${forMs} ms`,
    targets: TARGETS,
    startEnvironment: () => memcachedServers(1),
    async inject({ memcached: [server] }) {
      server.signal('SIGSTOP')
      await pause(forMs)
      server.signal('SIGCONT')
    },
    expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
  }
}

/** @type {MemcachedFault} */
export const memcachedLost = {
  name: 'memcached-lost',
  what: 'answers of memcached are lost; then the connections are reset',
  targets: TARGETS,
  startEnvironment: () => memcachedServers(1),
  async inject({ proxies: [proxy] }) {
    proxy.conditions = { loseDown: true }
    await pause(FOR_MS)
    proxy.conditions = {}
    proxy.reset()
  },
  expects: { fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {MemcachedFault} */
export const memcachedRefused = {
  name: 'memcached-refused',
  what: 'connections to memcached are reset, and new ones refused for a second',
  targets: TARGETS,
  startEnvironment: () => memcachedServers(1),
  async inject({ proxies: [proxy] }) {
    await proxy.stop()
    await pause(1000)
    await proxy.start()
  },
  expects: { refused: 'some', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

/** @type {MemcachedFault} */
export const memcachedFlush = {
  name: 'memcached-flush',
  what: 'flush_all: every key begins anew, and no call fails',
  targets: TARGETS,
  startEnvironment: () => memcachedServers(1),
  async inject({ memcached: [server] }) {
    await server.ask('flush_all')
  },
  forgets: 1,
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'none', recovered: 'none' },
}

/** @type {MemcachedFault} */
export const memcachedOneAway = {
  name: 'memcached-one-away',
  what: 'two of three memcached servers are killed, and 500 ms later empty',
  targets: TARGETS,
  startEnvironment: () => memcachedServers(3),
  async inject({ memcached: [, second, third] }) {
    await Promise.all([second.kill(), third.kill()])
    await pause(500)
    await Promise.all([second.start(), third.start()])
  },
  forgets: 1,
  expects: { fatal: 'none' },
}

/** @type {MemcachedFault} */
export const memcachedSlow = {
  name: 'memcached-slow',
  what: 'answers of memcached take 20 to 30 ms, the deadline is 200',
  targets: [{ client: 'memcached', then: 'local' }],
  startEnvironment: () => memcachedServers(1),
  async inject({ proxies: [proxy] }) {
    proxy.conditions = { downDelayMs: 20, jitterMs: 10 }
    await pause(1000)
    proxy.conditions = {}
  },
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'none', recovered: 'none' },
}
