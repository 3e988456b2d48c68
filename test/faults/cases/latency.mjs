// A slow network. Delays below the deadline cause no failure, and longer delays cost no more than the deadline.

import { setTimeout as pause } from 'node:timers/promises'
import { serverBehindProxy } from '../environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../assertions.mjs' */

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
    targets: [
      { client: 'ioredis', then: 'local' },
      { client: 'node-redis', then: 'local' },
    ],
    startEnvironment: serverBehindProxy,
    async inject({ proxy }) {
      proxy.conditions = { downDelayMs: ms, jitterMs }
      await pause(1000)
      proxy.conditions = {}
    },
    expects:
      ms + jitterMs < timeoutMs
        ? NOTHING
        : { timeout: 'some', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
  }
}
