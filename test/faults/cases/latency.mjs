// A network that is slow: within the deadline nobody notices, beyond it nobody waits longer than the deadline.

import { setTimeout as pause } from 'node:timers/promises'
import { serverBehindProxy } from '../scenes.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../oracles.mjs' */

/** @type {ExpectedCounts} */
const NOTHING = { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'none', recovered: 'none' }

/**
 * @param {number} ms
 * @param {number} jitterMs
 * @param {number} timeoutMs
 * @returns {Fault<Awaited<ReturnType<typeof serverBehindProxy>>>}
 */
export function latency(ms, jitterMs, timeoutMs) {
  return {
    name: `latency-${ms}`,
    what: `answers take ${ms} to ${ms + jitterMs} ms, the deadline is ${timeoutMs}`,
    timeoutMs,
    subjects: [
      { client: 'ioredis', then: 'local' },
      { client: 'node-redis', then: 'local' },
    ],
    setTheScene: serverBehindProxy,
    async strike({ proxy }) {
      proxy.weather = { downDelayMs: ms, jitterMs }
      await pause(1000)
      proxy.weather = {}
    },
    expects:
      ms + jitterMs < timeoutMs
        ? NOTHING
        : { timeout: 'some', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
  }
}
