// Decisions a second by the number of hits under way: the same fixed window, allowed hits. One process measures a contestant with all
// numbers, because the warm-up takes longest.

import { LARGE_QUOTA } from '../../quota.mjs'
import { microseconds, perSecond, times } from '../../report/numbers.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { loadContestant } from '../contestants.mjs'
import { trafficOn } from '../traffic.mjs'

/** @import { Reading, Results } from '../../rounds/results.mjs' */
/** @import { Table } from '../../report/table.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memcached.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */

export const name = 'hits under way'
export const file = import.meta.url

const GROUP = 'one server'

/** The largest number first, so that the code is compiled before the smaller ones run. */
export const COUNTS = [128, 16, 1]

/**
 * @param {string} contestant
 * @param {string} field
 * @param {number} underWay
 * @returns {Reading}
 */
export function reading(contestant, field, underWay) {
  return [name, GROUP, contestant, `${field} at ${underWay}`]
}

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, timing, port }) {
  const entrants = contestants.map(({ name }) => ({ name, params: { contestant: name, port, timing } }))
  return [{ name: GROUP, entrants }]
}

/** @param {{ contestant: string, port: number, timing: Timing }} params */
export async function measure({ contestant, port, timing }) {
  const { create } = await loadContestant(contestant)
  const limiter = create(port, LARGE_QUOTA)
  const traffic = trafficOn(limiter)
  await traffic.warmUp(timing.warmUpMs)
  /** @type {Record<string, number>} */
  const all = {}
  for (const underWay of COUNTS) {
    const numbers = await traffic.measure({ underWay, ...timing })
    if (numbers.allowedShare !== 1) throw new Error(`${contestant} denied hits that were below the limit`)
    for (const [field, number] of Object.entries(numbers)) all[`${field} at ${underWay}`] = number
  }
  await limiter.close()
  return all
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  return {
    title: 'Decisions on memcached, one server',
    note: `Over ${KEYS.toLocaleString('en')} keys.`,
    columns: ['hits under way', 'contestant', 'decisions a second', 'sluice is', 'client CPU'],
    rows: COUNTS.toReversed().flatMap((underWay) =>
      contestants.map((contestant) => [
        String(underWay),
        contestant.name,
        perSecond(results.median(reading(contestant.name, 'hitsPerSecond', underWay))),
        times(
          results.medianRatio(reading('sluice', 'hitsPerSecond', underWay), reading(contestant.name, 'hitsPerSecond', underWay)),
        ),
        microseconds(results.median(reading(contestant.name, 'clientMicros', underWay))),
      ]),
    ),
  }
}
