// The worst single hit while a store grows: a table that is rehashed at once makes one caller wait for all of it.
// Each hit is timed by itself; making its key is not in the time.

import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, milliseconds, times } from '../../report/numbers.mjs'
import { loadContestant } from '../contestants.mjs'
import { assertHolds, keyAt } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */

export const name = 'worst hit'
export const file = import.meta.url

const KEYS = 4_000_000
const MAX_KEYS = 5_000_000
export const GROUP = `0 to ${keyCount(KEYS)}`

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups(plan) {
  return [{ name: GROUP, entrants: entrants(plan).map((name) => ({ name, params: { contestant: name } })) }]
}

/**
 * Ours and the floor: both answer at once, so what is timed is the hit and nothing else.
 * @param {Plan} plan
 */
function entrants({ contestants }) {
  return contestants.filter(({ role }) => role === 'sluice' || role === 'floor').map(({ name }) => name)
}

/** @param {{ contestant: string }} params */
export async function measure({ contestant }) {
  const { create } = await loadContestant(contestant)
  const limiter = create({ ...LARGE_QUOTA, keys: MAX_KEYS })
  const tookMs = new Float64Array(KEYS)
  for (let i = 0; i < KEYS; i++) {
    const key = keyAt(i, KEYS)
    const startMs = performance.now()
    limiter.hit(key)
    tookMs[i] = performance.now() - startMs
  }
  assertHolds(limiter, KEYS)
  tookMs.sort()
  return { worstMs: tookMs[KEYS - 1], rareMs: tookMs[Math.ceil(KEYS * 0.9999) - 1] }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(plan, results) {
  return {
    title: `The worst single hit while growing from ${GROUP}`,
    note: `sluice has maxKeys ${MAX_KEYS.toLocaleString('en')}. Collections and the machine's noise are in the times.`,
    columns: ['contestant', 'worst', 'p99.99', 'times the worst of sluice'],
    rows: entrants(plan).map((contestant) => [
      contestant,
      milliseconds(results.median([name, GROUP, contestant, 'worstMs'])),
      milliseconds(results.median([name, GROUP, contestant, 'rareMs'])),
      times(results.medianRatio([name, GROUP, contestant, 'worstMs'], [name, GROUP, 'sluice', 'worstMs'])),
    ]),
  }
}
