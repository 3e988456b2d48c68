// The end of a fault: both instances are ready, and decide by the store again.

import { setTimeout as pause } from 'node:timers/promises'
import { callsWithoutStore, isReady } from './vital-signs.mjs'

/** @import { Soak } from './soak-context.mjs' */

/** Two seconds until the client connects again, one until the store is asked again, and a look at the records. */
export const RECOVERS_WITHIN_MS = 5000
const GIVEN_UP_MS = 30_000

/** No call without the store for so long, under traffic: recovered. */
const QUIET_MS = 700
const LOOK_EVERY_MS = 50

/**
 * Waits for the recovery; → how long it took.
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
      if (tookMs > RECOVERS_WITHIN_MS) soak.weather.complain('answer', `recovery took ${Math.round(tookMs)} ms`)
      return tookMs
    }
    if (nowMs - startMs > GIVEN_UP_MS) throw new Error(`the store is not in use again after ${GIVEN_UP_MS} ms`)
    await pause(LOOK_EVERY_MS)
  }
}
