// The end of a fault: both instances are ready and decide by the store again.

import { setTimeout as pause } from 'node:timers/promises'
import { callsWithoutStore, isReady } from './server-metrics.mjs'

/** @import { Soak } from './soak-context.mjs' */

/** Two seconds until the client reconnects, one until the store is tried again, and time to read the records. */
export const RECOVERS_WITHIN_MS = 5000
const GIVEN_UP_MS = 30_000

/** The store counts as recovered after this time without a fallback, under traffic. */
const QUIET_MS = 700
const LOOK_EVERY_MS = 50

/**
 * Waits for the recovery and returns its duration in ms.
 * @param {Soak} soak
 */
export async function recovered(soak) {
  const startMs = performance.now()
  let [quietSinceMs, before] = [startMs, '']
  for (;;) {
    const counts = []
    for (const { asker } of soak.fleet.instances) {
      counts.push((await isReady(soak, asker)) ? await callsWithoutStore(soak, asker) : undefined)
    }
    const nowMs = performance.now()
    const now = counts.join()
    if (now !== before || counts.includes(undefined)) quietSinceMs = nowMs
    before = now
    if (nowMs - quietSinceMs >= QUIET_MS) {
      const tookMs = quietSinceMs - startMs
      if (tookMs > RECOVERS_WITHIN_MS) soak.phases.complain('answer', `recovery took ${Math.round(tookMs)} ms`)
      return tookMs
    }
    if (nowMs - startMs > GIVEN_UP_MS) throw new Error(`the store is not in use again after ${GIVEN_UP_MS} ms`)
    await pause(LOOK_EVERY_MS)
  }
}
