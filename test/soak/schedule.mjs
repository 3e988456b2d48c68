// The order of the faults, their lengths and their target instances, all derived from the seed.

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */

/** @typedef {'store-stopped' | 'store-killed' | 'store-emptied' | 'instance-killed' | 'instance-drained'} FaultName */
/** @typedef {{ name: FaultName, target: 'a' | 'b', calmMs: number, lengthMs: number }} Planned */

/** @type {readonly FaultName[]} */
export const FAULT_NAMES = ['store-stopped', 'store-killed', 'store-emptied', 'instance-killed', 'instance-drained']

const SHORTEST_CALM_MS = 3000
const LONGEST_CALM_MS = 7000
const SHORTEST_FAULT_MS = 500
const LONGEST_FAULT_MS = 3500

/** Average time of the recovery and the verification. */
const AFTERWARDS_MS = 6000

/** Share of the time in which the first instance may be ended. After it the instance runs on, so its memory can be watched. */
const BOTH_ENDED = 0.4

/**
 * Returns rounds of all faults, each round in a new order, and at least one round.
 * @param {Random} random
 * @param {number} minutes
 * @param {readonly FaultName[]} faults
 * @returns {readonly Planned[]}
 */
export function makeSchedule(random, minutes, faults = FAULT_NAMES) {
  const wholeMs = minutes * 60_000
  // A short soak has every fault too.
  const longestCalmMs = minutes < 2 ? SHORTEST_CALM_MS + 1000 : LONGEST_CALM_MS
  const longestFaultMs = minutes < 2 ? 1500 : LONGEST_FAULT_MS
  /** @type {Planned[]} */
  const planned = []
  let atMs = 0
  while (planned.length === 0 || atMs < wholeMs) {
    for (const name of shuffled(random, faults)) {
      if (planned.length >= faults.length && atMs >= wholeMs) break
      const target = atMs < BOTH_ENDED * wholeMs ? random.pick(/** @type {const} */ (['a', 'b'])) : 'b'
      const calmMs = random.whole(SHORTEST_CALM_MS, longestCalmMs)
      const lengthMs = random.whole(SHORTEST_FAULT_MS, longestFaultMs)
      planned.push({ name, target, calmMs, lengthMs })
      atMs += calmMs + lengthMs + AFTERWARDS_MS
    }
  }
  return planned
}

/**
 * @template T
 * @param {Random} random
 * @param {readonly T[]} items
 */
function shuffled(random, items) {
  const left = [...items]
  /** @type {T[]} */
  const taken = []
  while (left.length > 0) taken.push(...left.splice(random.whole(0, left.length - 1), 1))
  return taken
}
