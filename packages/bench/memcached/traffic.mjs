// The traffic of the memcached bench: a constant number of hits under way on some thousand keys. The next hit starts as soon as an
// answer arrives.

import { hitFor, randomKeys } from '../rounds/hits.mjs'

/** @import { Limiter } from './contestants.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */

/** @param {Limiter} limiter */
export function trafficOn(limiter) {
  const nextKey = randomKeys()
  return {
    /** @param {number} ms */
    warmUp: (ms) => hitFor(limiter, nextKey, { underWay: 128, ms }),

    /** @param {{ underWay: number } & Timing} work */
    async measure({ underWay, leadInMs, timedMs }) {
      await hitFor(limiter, nextKey, { underWay, ms: leadInMs })
      const cpuBefore = process.cpuUsage()
      const { hits, allowed, elapsedMs } = await hitFor(limiter, nextKey, { underWay, ms: timedMs })
      const { user, system } = process.cpuUsage(cpuBefore)
      return {
        hitsPerSecond: (hits / elapsedMs) * 1000,
        allowedShare: allowed / hits,
        clientMicros: (user + system) / hits,
      }
    },
  }
}
