// An outage of ten seconds under load. Neither memory nor the client's queues grow with it.

import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { serverBehindProxy } from '../environments.mjs'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

const OUTAGE_MS = 10_000
const PER_SECOND = 500
const TIMEOUT_MS = 200
const PROBE_EVERY_MS = 500

/** After the first deadline, only one call in each interval is sent to the store. */
const MOST_PENDING = 2 * ((PER_SECOND * TIMEOUT_MS) / 1000) + OUTAGE_MS / PROBE_EVERY_MS

const MOST_HEAP_GROWTH = 4e6

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof serverBehindProxy>>>} */
export const longOutage = {
  name: 'long-outage',
  what: `nothing arrives for ${OUTAGE_MS / 1000} s, at ${PER_SECOND} hits a second`,
  timeoutMs: TIMEOUT_MS,
  perSecond: PER_SECOND,
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
  ],
  startEnvironment: serverBehindProxy,
  async inject({ proxy }, targets) {
    proxy.conditions = { loseUp: true, loseDown: true }
    await pause(1000)
    const before = heapUsed()
    await pause(OUTAGE_MS - 1000)
    const grown = heapUsed() - before
    const pending = Math.max(...targets.flatMap(({ processes }) => processes.map(({ opened }) => opened.pending())))
    proxy.conditions = {}
    proxy.reset()
    return [
      ...(grown > MOST_HEAP_GROWTH ? [`the heap grew by ${grown} bytes`] : []),
      ...(pending > MOST_PENDING ? [`a client holds ${pending} commands, at most ${MOST_PENDING} expected`] : []),
    ]
  },
  expects: { timeout: 'some', refused: 'any', unknown: 'any', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

function heapUsed() {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
