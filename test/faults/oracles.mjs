// What must hold whatever the fault, each as a list of what is wrong: empty if nothing is.

import { mostAdmitted, mostWithheld } from './bounds.mjs'
import { KEYS } from './subject.mjs'

/** @import { StallWatch } from './stalls.mjs' */
/** @import { Subject } from './subject.mjs' */
/** @import { FailureReason } from 'sluice' */

/** A call may settle so much after its deadline. */
export const SLACK_MS = 50

/** The store has to be in use again so soon after the fault has ended. */
export const RECOVERS_WITHIN_MS = 2000

/**
 * What each counter must show after the fault: that it happened, that it did not, or either.
 * @typedef {Partial<Record<FailureReason | 'recovered', 'some' | 'none' | 'any'>>} ExpectedCounts
 */

/**
 * How many units of each key are counted in Redis at the end, and how many it had granted and lost.
 * @typedef {{ counted: number[], lost: number[] }} Books
 */

/**
 * Every call settles by its deadline, but for the time in which the machine kept the process from running.
 * @param {Subject} subject
 * @param {StallWatch} stalls
 */
export function settlesInTime({ slow, timeoutMs }, stalls) {
  const took = slow.map(({ startMs, settledMs }) => settledMs - startMs - stalls.stolenBetween(startMs, settledMs))
  const late = took.filter((ms) => ms > timeoutMs + SLACK_MS)
  if (late.length === 0) return []
  return [`${late.length} hits took longer than ${timeoutMs} + ${SLACK_MS} ms, the longest ${Math.round(Math.max(...late))} ms`]
}

/**
 * No more is admitted than the written bound, and by the store itself no more than the limit.
 * @param {Subject} subject
 * @param {Books} books
 */
export function admitsNoMore(subject, { lost }) {
  return KEYS.flatMap(({ name, limit }, key) => {
    const { store, fallback } = subject.tally(key)
    const wrong = []
    const bound = boundOf(subject, key, lost[key])
    const admitted = store.allowed + fallback.allowed
    if (admitted > bound) wrong.push(`${name}: ${admitted} admitted, bound ${bound}`)
    if (store.allowed > limit + lost[key]) wrong.push(`${name}: ${store.allowed} granted by the store, ${limit} + ${lost[key]}`)
    return wrong
  })
}

/**
 * @param {Subject} subject
 * @param {number} key its index
 * @param {number} lost
 */
export function boundOf(subject, key, lost) {
  const { then, processes } = subject
  const { unanswered } = subject.tally(key)
  return mostAdmitted({ limit: KEYS[key].limit, then, processes: processes.length, lost, unanswered })
}

/**
 * Nobody is denied without reason: whoever denies has granted a whole limit, or may have without knowing.
 * @param {Subject} subject
 */
export function deniesNobodyWithoutReason(subject) {
  const wrong = KEYS.flatMap(({ name, limit }, key) => {
    const { store } = subject.tally(key)
    const most = store.allowed + mostWithheld(subject.failures(key))
    return store.denied > 0 && most < limit ? [`${name}: denied by the store after ${most} of ${limit}`] : []
  })
  for (const { tallies } of subject.processes) {
    for (const [key, { fallback, thrown }] of tallies.entries()) {
      const { name, limit } = KEYS[key]
      const isFull = subject.then === 'local' && fallback.allowed === limit
      if (fallback.denied > 0 && subject.then !== 'deny' && !isFull) wrong.push(`${name}: denied by the fallback without reason`)
      if (fallback.allowed > 0 && (subject.then === 'deny' || subject.then === 'throw')) wrong.push(`${name}: not denied`)
      if (thrown > 0 && subject.then !== 'throw') wrong.push(`${name}: ${thrown} hits failed with ${[...subject.errors]}`)
    }
  }
  return wrong
}

/**
 * What the store said it granted is counted, and nothing is counted twice: not more than what was granted and what may have
 * been, one unit for each hit in doubt.
 * @param {Subject} subject
 * @param {Books} books
 */
export function countsOnce(subject, { counted, lost }) {
  return KEYS.flatMap(({ name }, key) => {
    const wrong = []
    const granted = subject.tally(key).store.allowed
    const inDoubt = mostWithheld(subject.failures(key))
    if (counted[key] < granted - lost[key]) wrong.push(`${name}: ${granted} granted, ${counted[key]} counted`)
    if (counted[key] > granted + inDoubt) wrong.push(`${name}: ${counted[key]} counted, ${granted} granted, ${inDoubt} in doubt`)
    return wrong
  })
}

/**
 * The counters tell what was done, and add up to the hits that the store did not answer.
 * @param {Subject} subject
 * @param {ExpectedCounts} expected
 */
export function countersTell(subject, expected) {
  const failures = subject.failures()
  const wrong = []
  for (const [reason, expectation] of Object.entries(expected)) {
    const count = failures[/** @type {keyof typeof failures} */ (reason)]
    if ((expectation === 'some' && count === 0) || (expectation === 'none' && count > 0)) {
      wrong.push(`the counter of ${reason} is ${count}, expected ${expectation}`)
    }
  }
  const { recovered, ...reasons } = failures
  const told = Object.values(reasons).reduce((sum, count) => sum + count, 0)
  const unanswered = KEYS.reduce((sum, _, i) => sum + subject.tally(i).unanswered, 0)
  if (told !== unanswered) wrong.push(`the counters tell of ${told} failures, there were ${unanswered}`)
  if (told > failures.fatal && recovered === 0) wrong.push('failures, and no recovery')
  return wrong
}

/**
 * The store is in use again soon after the fault has ended.
 * @param {number} recoveryMs
 */
export function recoversSoon(recoveryMs) {
  return recoveryMs > RECOVERS_WITHIN_MS ? [`still without the store ${Math.round(recoveryMs)} ms after the fault`] : []
}
