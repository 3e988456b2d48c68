// Ten seconds of nothing under load: neither memory nor the client's queues grow with it.

import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { serverBehindProxy } from '../scenes.mjs'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

const OUTAGE_MS = 10_000
const PER_SECOND = 500
const TIMEOUT_MS = 200
const PROBE_EVERY_MS = 500

/** Nothing is asked after the first deadline but one call in each interval. */
const MOST_HELD = 2 * ((PER_SECOND * TIMEOUT_MS) / 1000) + OUTAGE_MS / PROBE_EVERY_MS

const MOST_HEAP_GROWTH = 4e6

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof serverBehindProxy>>>} */
export const longOutage = {
  name: 'long-outage',
  what: `nothing arrives for ${OUTAGE_MS / 1000} s, at ${PER_SECOND} hits a second`,
  timeoutMs: TIMEOUT_MS,
  perSecond: PER_SECOND,
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
  ],
  setTheScene: serverBehindProxy,
  async strike({ proxy }, subjects) {
    proxy.weather = { loseUp: true, loseDown: true }
    await pause(1000)
    const before = heapUsed()
    await pause(OUTAGE_MS - 1000)
    const grown = heapUsed() - before
    const held = Math.max(...subjects.flatMap(({ processes }) => processes.map(({ opened }) => opened.held())))
    proxy.weather = {}
    proxy.reset()
    return [
      ...(grown > MOST_HEAP_GROWTH ? [`the heap grew by ${grown} bytes`] : []),
      ...(held > MOST_HELD ? [`a client holds ${held} commands, at most ${MOST_HELD} expected`] : []),
    ]
  },
  expects: { timeout: 'some', refused: 'any', unknown: 'any', fatal: 'none', 'not-asked': 'some', recovered: 'some' },
}

function heapUsed() {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
