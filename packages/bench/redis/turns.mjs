// The turns of a limiter: hits, and the cost of a decision for the client and the servers.

import { hitFor, randomKeys } from '../rounds/hits.mjs'
import { usageOf } from './usage.mjs'

/** @import { Limiter, Timing } from '../rounds/hits.mjs' */
/** @import { TurnTaker } from '../rounds/measure-in-turns.mjs' */
/** @import { Connection, Place } from './connections.mjs' */

/** Hits under way in tasks with one such number. */
export const MANY = 128

/** @typedef {{ limiter: Limiter, connection: Connection, place: Place, sends: string[], timing: Timing }} Measured */

/**
 * Turns with MANY hits under way.
 * @param {Measured} measured
 * @returns {Promise<TurnTaker>}
 */
export async function turnsOf(measured) {
  const measure = await warmUp(measured, [MANY])
  return { takeTurn: () => measure(MANY), close: () => measured.connection.close() }
}

/**
 * Turns with several numbers of hits under way, one after the other. `nameOf` names a field of the numbers.
 * @param {Measured} measured
 * @param {readonly number[]} counts
 * @param {(field: string, underWay: number) => string} nameOf
 * @returns {Promise<TurnTaker>}
 */
export async function turnsWithCounts(measured, counts, nameOf) {
  const measure = await warmUp(measured, counts)
  return {
    async takeTurn() {
      /** @type {Record<string, number>} */
      const all = {}
      for (const underWay of counts) {
        for (const [field, number] of Object.entries(await measure(underWay))) all[nameOf(field, underWay)] = number
      }
      return all
    },
    close: () => measured.connection.close(),
  }
}

/**
 * Hits until the code is compiled and all keys exist. Returns the function that measures.
 * @param {Measured} measured
 * @param {readonly number[]} counts
 */
async function warmUp({ limiter, place, sends, timing: { warmUpMs, leadInMs, timedMs } }, counts) {
  const nextKey = randomKeys()
  for (const underWay of counts.toReversed()) await hitFor(limiter, nextKey, { underWay, ms: warmUpMs / counts.length })
  return async (/** @type {number} */ underWay) => {
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
  }
}
