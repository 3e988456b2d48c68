// The worst single hit while a store grows: a table that is rehashed at once makes one caller wait for all of it.
// Each hit is timed by itself; making its key is not in the time.

import { roomyQuota } from '../../quota.mjs'
import { keyCount, milliseconds, times } from '../../report/numbers.mjs'
import { loadContestant } from '../contestants.mjs'
import { assertHolds, keyAt } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */

export const name = 'worst hit'
export const file = import.meta.url

const keys = 4_000_000
const maxKeys = 5_000_000
export const group = `0 to ${keyCount(keys)}`

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups(plan) {
  return [{ name: group, entrants: entrants(plan).map((name) => ({ name, params: { contestant: name } })) }]
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
  const limiter = create({ ...roomyQuota, keys: maxKeys })
  const tookMs = new Float64Array(keys)
  for (let i = 0; i < keys; i++) {
    const key = keyAt(i, keys)
    const startMs = performance.now()
    limiter.hit(key)
    tookMs[i] = performance.now() - startMs
  }
  assertHolds(limiter, keys)
  tookMs.sort()
  return { worstMs: tookMs[keys - 1], rareMs: tookMs[Math.ceil(keys * 0.9999) - 1] }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(plan, results) {
  return {
    title: `The worst single hit while growing from ${group}`,
    note: `sluice has maxKeys ${maxKeys.toLocaleString('en')}. Collections and the machine's noise are in the times.`,
    columns: ['contestant', 'worst', 'p99.99', 'times the worst of sluice'],
    rows: entrants(plan).map((contestant) => [
      contestant,
      milliseconds(results.median([name, group, contestant, 'worstMs'])),
      milliseconds(results.median([name, group, contestant, 'rareMs'])),
      times(results.medianRatio([name, group, contestant, 'worstMs'], [name, group, 'sluice', 'worstMs'])),
    ]),
  }
}
