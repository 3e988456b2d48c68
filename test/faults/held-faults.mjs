// Conditions that a fault waits for, instead of fixed times. A busy machine needs longer to connect, and to fail.
// Invariant: each wait ends. A condition that does not hold in time is left to the assertions of the fault.

import { setTimeout as pause } from 'node:timers/promises'

/** @import { FailureReason } from 'sluice' */
/** @import { Target } from './target.mjs' */

const MOST_MS = 5000

/**
 * Waits until the store has answered each process of the targets. A hit before that waits for a connection or a table, and its deadline
 * counts as refused.
 * @param {readonly Target[]} targets
 */
export function untilAnswered(targets) {
  const answers = (/** @type {Target['processes'][number]} */ { hitCounts }) =>
    hitCounts.some(({ store }) => store.allowed + store.denied > 0)
  return waitFor(() => targets.every(({ processes }) => processes.every(answers)))
}

/**
 * Waits until each target has counted a failure with this reason.
 * @param {readonly Target[]} targets
 * @param {FailureReason} reason
 */
export function untilCounted(targets, reason) {
  return waitFor(() => targets.every((target) => target.failures()[reason] > 0))
}

/** @param {() => boolean} holds */
async function waitFor(holds) {
  const endMs = performance.now() + MOST_MS
  while (!holds() && performance.now() < endMs) await pause(20)
}
