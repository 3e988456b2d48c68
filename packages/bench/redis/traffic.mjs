// The traffic of the Redis bench, and the cost of a decision for the client and the servers.

import { hitFor, randomKeys } from '../rounds/hits.mjs'
import { usageOf } from './usage.mjs'

/** @import { Limiter, Timing } from '../rounds/hits.mjs' */
/** @import { Place } from './connections.mjs' */

/** @param {Limiter} limiter */
export function trafficOn(limiter) {
  const nextKey = randomKeys()
  return {
    /** @param {number} ms */
    warmUp: (ms) => hitFor(limiter, nextKey, { underWay: 128, ms }),

    /** @param {{ place: Place, sends: string[], underWay: number } & Timing} work */
    async measure({ place, sends, underWay, leadInMs, timedMs }) {
      await hitFor(limiter, nextKey, { underWay, ms: leadInMs })
      const usageBefore = await usageOf(place, sends)
      const cpuBefore = process.cpuUsage()
      const { hits, allowed, elapsedMs } = await hitFor(limiter, nextKey, { underWay, ms: timedMs })
      const { user, system } = process.cpuUsage(cpuBefore)
      const usage = await usageOf(place, sends)
      return {
        hitsPerSecond: (hits / elapsedMs) * 1000,
        allowedShare: allowed / hits,
        clientMicros: (user + system) / hits,
        redisMicros: (usage.cpuMicros - usageBefore.cpuMicros) / hits,
        commandMicros: (usage.commandMicros - usageBefore.commandMicros) / hits,
        roundTrips: (usage.commands - usageBefore.commands) / hits,
      }
    },
  }
}
