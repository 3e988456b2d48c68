// Bounds on what is admitted while the store fails: the formulas of docs/guides/when-the-store-fails.md. They are written
// nowhere else in code.

/** @typedef {'local' | 'allow' | 'deny' | 'throw'} Then */

/**
 * The largest number of units that one key is granted in the time in which the rule alone would grant `limit`.
 * @param {object} situation
 * @param {number} situation.limit units that the rule grants in that time on one store that loses nothing
 * @param {Then} situation.then the failure option
 * @param {number} situation.processes number of processes that decide without the store
 * @param {number} situation.lost units that the store had granted and has lost: see `mostLost`
 * @param {number} situation.unanswered units of hits that the store did not answer in time
 */
export function mostAdmitted({ limit, then, processes, lost, unanswered }) {
  const byStore = limit + lost
  if (then === 'local') return byStore + Math.min(processes * limit, unanswered)
  if (then === 'allow') return byStore + unanswered
  return byStore
}

/**
 * The largest number of units that a store can lose, if it loses all counts each time.
 * @param {number} limit
 * @param {number} times
 */
export function mostLost(limit, times) {
  return limit * times
}

/**
 * The largest number of hits that are denied although a store that never fails would have granted them. These hits were
 * counted, but the caller got no answer.
 * @param {object} counts
 * @param {number} counts.timeout
 * @param {number} counts.unknown
 */
export function mostWithheld({ timeout, unknown }) {
  return timeout + unknown
}
