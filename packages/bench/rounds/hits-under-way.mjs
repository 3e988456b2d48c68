// The cost of a decision by the number of hits under way: the measurement and the rows that the benches of servers share. One process
// measures a contestant with all numbers, because the warm-up takes longest.

import { microseconds, perSecond, times } from '../report/numbers.mjs'
import { hitFor, randomKeys } from './hits.mjs'

/** @import { Limiter, Timing } from './hits.mjs' */
/** @import { Reading, Results } from './results.mjs' */

export const name = 'hits under way'

/** The largest number first, so that the code is compiled before the smaller ones run. */
export const COUNTS = [128, 16, 1]

/**
 * Returns a function that names the number of a contestant.
 * @param {string} group
 * @returns {(contestant: string, field: string, underWay: number) => Reading}
 */
export function readingIn(group) {
  return (contestant, field, underWay) => [name, group, contestant, `${field} at ${underWay}`]
}

/**
 * Measures a limiter with each number of hits under way. `usage` returns sums of the server since its start, by the names of their
 * fields; the result has the difference a hit.
 * @param {{ contestant: string, limiter: Limiter, timing: Timing, usage: () => Promise<Record<string, number>> }} work
 */
export async function measureUnderWay({ contestant, limiter, timing, usage }) {
  const nextKey = randomKeys()
  await hitFor(limiter, nextKey, { underWay: COUNTS[0], ms: timing.warmUpMs })
  /** @type {Record<string, number>} */
  const all = {}
  for (const underWay of COUNTS) {
    await hitFor(limiter, nextKey, { underWay, ms: timing.leadInMs })
    const before = await usage()
    const cpuBefore = process.cpuUsage()
    const { hits, allowed, elapsedMs } = await hitFor(limiter, nextKey, { underWay, ms: timing.timedMs })
    const { user, system } = process.cpuUsage(cpuBefore)
    const after = await usage()
    if (allowed !== hits) throw new Error(`${contestant} denied hits that were below the limit`)
    all[`hitsPerSecond at ${underWay}`] = (hits / elapsedMs) * 1000
    all[`clientMicros at ${underWay}`] = (user + system) / hits
    for (const [field, sum] of Object.entries(after)) all[`${field} at ${underWay}`] = (sum - before[field]) / hits
  }
  return all
}

/** Columns of `rowsOf`. @param {string} base */
export function columnsTo(base) {
  return ['hits under way', 'contestant', 'decisions a second', `times ${base}`, 'client CPU', 'server CPU']
}

/**
 * Returns the rows of a table, smallest number first. Ratios are those to `base`. `more` returns further cells of a row.
 * @param {{
 *   contestants: readonly { readonly name: string }[],
 *   base: string,
 *   results: Results,
 *   reading: ReturnType<typeof readingIn>,
 *   more?: (contestant: string, underWay: number) => string[],
 * }} table
 */
export function rowsOf({ contestants, base, results, reading, more = () => [] }) {
  return COUNTS.toReversed().flatMap((underWay) =>
    contestants.map(({ name }) => [
      underWay.toLocaleString('en'),
      name,
      perSecond(results.median(reading(name, 'hitsPerSecond', underWay))),
      times(results.medianRatio(reading(name, 'hitsPerSecond', underWay), reading(base, 'hitsPerSecond', underWay))),
      microseconds(results.median(reading(name, 'clientMicros', underWay))),
      microseconds(results.median(reading(name, 'serverMicros', underWay))),
      ...more(name, underWay),
    ]),
  )
}
