// An acknowledged change is in force at once on the instance that made it, and within a second on the other.

import { setTimeout as pause } from 'node:timers/promises'

/** @import { Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

/** The documented time, and the time of a request on a busy machine. */
export const SPREADS_WITHIN_MS = 1000
const SLACK_MS = 250

const ASK_EVERY_MS = 40

/** The wait ends after this time. The next verification must then find the change. */
const GIVEN_UP_MS = 5000

/**
 * Repeats `look` until nothing is missing or the time of a spread is over. Returns the items that are still missing.
 * @template T
 * @param {() => Promise<T[]>} look
 */
export async function untilNone(look) {
  const endMs = performance.now() + SPREADS_WITHIN_MS + SLACK_MS
  for (;;) {
    const missing = await look()
    if (missing.length === 0 || performance.now() > endMs) return missing
    await pause(ASK_EVERY_MS)
  }
}

/**
 * Requests the change from both instances. Returns true if it was in force on both before the calm ended.
 * @param {Soak} soak
 * @param {string} change
 * @param {Asker} maker the instance that acknowledged it
 * @param {(asker: Asker) => Promise<boolean>} isInForceOn
 */
export async function spreads(soak, change, maker, isInForceOn) {
  const { phases } = soak
  const mark = phases.mark()
  const startMs = performance.now()
  const isHere = await isInForceOn(maker)
  if (!phases.isSameCalm(mark)) return false
  if (!isHere) phases.complainOfCalm('change', `${change} is not in force on ${maker.name}, which acknowledged it`)
  for (const other of soak.others(maker)) {
    for (;;) {
      const isThere = await isInForceOn(other)
      const nowMs = performance.now()
      if (!phases.isSameCalm(mark)) return false
      const tookMs = nowMs - startMs
      const ownMs = tookMs - soak.stolenMs(tookMs)
      if (isThere) {
        soak.worstSpread.note(tookMs, ownMs)
        if (ownMs > SPREADS_WITHIN_MS + SLACK_MS) {
          phases.complainOfCalm('change', `${change} took ${Math.round(tookMs)} ms to reach ${other.name}`)
        }
        break
      }
      if (ownMs > GIVEN_UP_MS) {
        phases.complainOfCalm('change', `${change} did not reach ${other.name} within ${GIVEN_UP_MS} ms`)
        return false
      }
      await pause(ASK_EVERY_MS)
    }
  }
  return isHere
}
