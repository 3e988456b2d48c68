// An acknowledged change is in force at once where it was made, and within a second on the other instance.

import { setTimeout as pause } from 'node:timers/promises'

/** @import { Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

/** The documented time, and the time that asking takes on a busy machine. */
export const SPREADS_WITHIN_MS = 1000
const SLACK_MS = 250

const ASK_EVERY_MS = 40

/** After this time the roll call has to find it. */
const GIVEN_UP_MS = 5000

/**
 * Looks until nothing is missing, for as long as a change may take to spread; → what is missing still.
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
 * Asks both instances; → true if the change was seen in force on both before the calm ended.
 * @param {Soak} soak
 * @param {string} change
 * @param {Asker} maker the instance that acknowledged it
 * @param {(asker: Asker) => Promise<boolean>} isInForceOn
 */
export async function spreads(soak, change, maker, isInForceOn) {
  const { weather } = soak
  const mark = weather.mark()
  const startMs = performance.now()
  const isHere = await isInForceOn(maker)
  if (!weather.isSameCalm(mark)) return false
  if (!isHere) weather.complainOfCalm('change', `${change} is not in force on ${maker.name}, which acknowledged it`)
  for (const other of soak.others(maker)) {
    for (;;) {
      const isThere = await isInForceOn(other)
      const nowMs = performance.now()
      if (!weather.isSameCalm(mark)) return false
      const tookMs = nowMs - startMs
      const ownMs = tookMs - soak.stolenMs(tookMs)
      if (isThere) {
        soak.worstSpread.note(tookMs, ownMs)
        if (ownMs > SPREADS_WITHIN_MS + SLACK_MS) {
          weather.complainOfCalm('change', `${change} took ${Math.round(tookMs)} ms to reach ${other.name}`)
        }
        break
      }
      if (ownMs > GIVEN_UP_MS) {
        weather.complainOfCalm('change', `${change} did not reach ${other.name} within ${GIVEN_UP_MS} ms`)
        return false
      }
      await pause(ASK_EVERY_MS)
    }
  }
  return isHere
}
