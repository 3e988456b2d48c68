// How much can be admitted when the store fails: the formulas of docs/guides/when-the-store-fails.md, and the only place in
// code where they stand.

/** @typedef {'local' | 'allow' | 'deny' | 'throw'} Then */

/**
 * The most units that one key is granted in the time in which the rule by itself would grant `limit`.
 * @param {object} situation
 * @param {number} situation.limit what the rule grants in that time, from one store that forgets nothing
 * @param {Then} situation.then who answers when the store does not
 * @param {number} situation.processes how many processes answer by themselves
 * @param {number} situation.lost units that the store had granted and has forgotten: see `mostLost`
 * @param {number} situation.unanswered units of hits that the store did not answer in time
 */
export function mostAdmitted({ limit, then, processes, lost, unanswered }) {
  const byStore = limit + lost
  if (then === 'local') return byStore + Math.min(processes * limit, unanswered)
  if (then === 'allow') return byStore + unanswered
  return byStore
}

/**
 * The most that a store can forget, if each time it forgets all that it had granted.
 * @param {number} limit
 * @param {number} times
 */
export function mostLost(limit, times) {
  return limit * times
}

/**
 * The most hits that are denied though a store that never fails would have granted them: those that were counted without
 * their caller knowing.
 * @param {object} counts
 * @param {number} counts.timeout
 * @param {number} counts.unknown
 */
export function mostWithheld({ timeout, unknown }) {
  return timeout + unknown
}
