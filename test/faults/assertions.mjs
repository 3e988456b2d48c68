// Assertions that hold for every fault. Each returns a list of violations, which is empty on success.

import { mostAdmitted, mostWithheld } from './bounds.mjs'
import { KEYS } from './target.mjs'

/** @import { StallWatch } from './stalls.mjs' */
/** @import { Target } from './target.mjs' */
/** @import { FailureReason } from 'sluice' */

/** Largest delay between the deadline and the settlement of a call. */
export const SLACK_MS = 50

/** Largest time from the end of the fault until the store is in use again. */
export const RECOVERS_WITHIN_MS = 2000

/**
 * The expected counters after the fault: above zero, zero, or either.
 * @typedef {Partial<Record<FailureReason | 'recovered', 'some' | 'none' | 'any'>>} ExpectedCounts
 */

/**
 * Units of each key that Redis holds at the end, and units that it had granted and lost.
 * @typedef {{ counted: number[], lost: number[] }} StoreCounts
 */

/**
 * Every call settles by its deadline. Time in which the machine did not run the process is not counted.
 * @param {Target} target
 * @param {StallWatch} stalls
 */
export function settlesInTime({ slow, timeoutMs }, stalls) {
  const took = slow.map(({ startMs, settledMs }) => settledMs - startMs - stalls.stolenBetween(startMs, settledMs))
  const late = took.filter((ms) => ms > timeoutMs + SLACK_MS)
  if (late.length === 0) return []
  return [`${late.length} hits took longer than ${timeoutMs} + ${SLACK_MS} ms, the longest ${Math.round(Math.max(...late))} ms`]
}

/**
 * The admitted units stay within the documented bound, and the store itself grants no more than the limit.
 * @param {Target} target
 * @param {StoreCounts} storeCounts
 */
export function admitsNoMore(target, { lost }) {
  return KEYS.flatMap(({ name, limit }, key) => {
    const { store, fallback } = target.countsOf(key)
    const wrong = []
    const bound = boundOf(target, key, lost[key])
    const admitted = store.allowed + fallback.allowed
    if (admitted > bound) wrong.push(`${name}: ${admitted} admitted, bound ${bound}`)
    if (store.allowed > limit + lost[key]) wrong.push(`${name}: ${store.allowed} granted by the store, ${limit} + ${lost[key]}`)
    return wrong
  })
}

/**
 * @param {Target} target
 * @param {number} key its index
 * @param {number} lost
 */
export function boundOf(target, key, lost) {
  const { then, processes } = target
  const { unanswered } = target.countsOf(key)
  return mostAdmitted({ limit: KEYS[key].limit, then, processes: processes.length, lost, unanswered })
}

/**
 * No hit is denied without reason. The one that denies has granted a whole limit, or may have without an answer.
 * @param {Target} target
 */
export function deniesNobodyWithoutReason(target) {
  const wrong = KEYS.flatMap(({ name, limit }, key) => {
    const { store } = target.countsOf(key)
    const most = store.allowed + mostWithheld(target.failures(key))
    return store.denied > 0 && most < limit ? [`${name}: denied by the store after ${most} of ${limit}`] : []
  })
  for (const { hitCounts } of target.processes) {
    for (const [key, { fallback, thrown }] of hitCounts.entries()) {
      const { name, limit } = KEYS[key]
      const isFull = target.then === 'local' && fallback.allowed === limit
      if (fallback.denied > 0 && target.then !== 'deny' && !isFull) wrong.push(`${name}: denied by the fallback without reason`)
      if (fallback.allowed > 0 && (target.then === 'deny' || target.then === 'throw')) wrong.push(`${name}: not denied`)
      if (thrown > 0 && target.then !== 'throw') wrong.push(`${name}: ${thrown} hits failed with ${[...target.errors]}`)
    }
  }
  return wrong
}

/**
 * Every unit that the store granted is counted, and none twice. The count may exceed the grants by one unit for each hit in
 * doubt.
 * @param {Target} target
 * @param {StoreCounts} storeCounts
 */
export function countsOnce(target, { counted, lost }) {
  return KEYS.flatMap(({ name }, key) => {
    const wrong = []
    const granted = target.countsOf(key).store.allowed
    const inDoubt = mostWithheld(target.failures(key))
    if (counted[key] < granted - lost[key]) wrong.push(`${name}: ${granted} granted, ${counted[key]} counted`)
    if (counted[key] > granted + inDoubt) wrong.push(`${name}: ${counted[key]} counted, ${granted} granted, ${inDoubt} in doubt`)
    return wrong
  })
}

/**
 * The counters match the fault, and their sum equals the number of hits that the store did not answer.
 * @param {Target} target
 * @param {ExpectedCounts} expected
 */
export function countersAddUp(target, expected) {
  const failures = target.failures()
  const wrong = []
  for (const [reason, expectation] of Object.entries(expected)) {
    const count = failures[/** @type {keyof typeof failures} */ (reason)]
    if ((expectation === 'some' && count === 0) || (expectation === 'none' && count > 0)) {
      wrong.push(`the counter of ${reason} is ${count}, expected ${expectation}`)
    }
  }
  const { recovered, ...reasons } = failures
  const counted = Object.values(reasons).reduce((sum, count) => sum + count, 0)
  const unanswered = KEYS.reduce((sum, _, i) => sum + target.countsOf(i).unanswered, 0)
  if (counted !== unanswered) wrong.push(`the counters show ${counted} failures, there were ${unanswered}`)
  if (counted > failures.fatal && recovered === 0) wrong.push('failures, and no recovery')
  return wrong
}

/**
 * The store is in use again soon after the end of the fault.
 * @param {number} recoveryMs
 */
export function recoversSoon(recoveryMs) {
  return recoveryMs > RECOVERS_WITHIN_MS ? [`still without the store ${Math.round(recoveryMs)} ms after the fault`] : []
}
