// The cost of a decision by the number of hits under way: every contestant through a pool of the same size, the same fixed window,
// allowed hits. One process measures a contestant with all numbers, because the warm-up takes longest.

import { createPool } from 'mysql2'
import { LARGE_QUOTA } from '../../quota.mjs'
import { microseconds, perSecond, threeDigits, times } from '../../report/numbers.mjs'
import { hitFor, KEYS, randomKeys } from '../../rounds/hits.mjs'
import { loadContestant, POOL_SIZE } from '../contestants.mjs'
import { usageOf } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */
/** @import { Reading, Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place, Plan } from '../mysql.mjs' */

export const name = 'hits under way'
export const file = import.meta.url

const GROUP = 'mysql2'

/** The largest number first, so that the code is compiled before the smaller ones run. */
const COUNTS = [128, 16, 1]

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
export function groups({ contestants, timing, place }) {
  return [{ name: GROUP, entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, timing, place } })) }]
}

/** @param {{ contestant: string, timing: Timing, place: Place }} params */
export async function measure({ contestant, timing, place: { address, pid } }) {
  const pool = createPool({ ...address, connectionLimit: POOL_SIZE })
  const table = `bench_${contestant.replaceAll('-', '_')}`
  const { create } = await loadContestant(contestant)
  const limiter = await create(pool, table, LARGE_QUOTA)
  const nextKey = randomKeys()
  await hitFor(limiter, nextKey, { underWay: COUNTS[0], ms: timing.warmUpMs })
  /** @type {Record<string, number>} */
  const all = {}
  for (const underWay of COUNTS) {
    await hitFor(limiter, nextKey, { underWay, ms: timing.leadInMs })
    const before = await usageOf(pool, pid)
    const cpuBefore = process.cpuUsage()
    const { hits, allowed, elapsedMs } = await hitFor(limiter, nextKey, { underWay, ms: timing.timedMs })
    const { user, system } = process.cpuUsage(cpuBefore)
    const after = await usageOf(pool, pid)
    if (allowed !== hits) throw new Error(`${contestant} denied hits that were below the limit`)
    Object.assign(all, {
      [`hitsPerSecond at ${underWay}`]: (hits / elapsedMs) * 1000,
      [`clientMicros at ${underWay}`]: (user + system) / hits,
      [`serverMicros at ${underWay}`]: (after.cpuMicros - before.cpuMicros) / hits,
      [`roundTrips at ${underWay}`]: (after.roundTrips - before.roundTrips) / hits,
    })
  }
  await pool.promise().query(`DROP TABLE ${table}`)
  await pool.promise().end()
  return all
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const [{ name: peer }] = contestants.filter(({ role }) => role === 'peer')
  const columns = [
    'hits under way',
    'contestant',
    'decisions a second',
    `times ${peer}`,
    'client CPU',
    'server CPU',
    'round trips',
  ]
  return {
    title: `Decisions through a pool of ${POOL_SIZE} connections`,
    note: `Over ${KEYS.toLocaleString('en')} keys, on MariaDB, without waiting for the disk (innodb_flush_log_at_trx_commit = 2).`,
    columns,
    rows: COUNTS.toReversed().flatMap((underWay) =>
      contestants.map(({ name }) => [
        underWay.toLocaleString('en'),
        name,
        perSecond(results.median(reading(name, 'hitsPerSecond', underWay))),
        times(results.medianRatio(reading(name, 'hitsPerSecond', underWay), reading(peer, 'hitsPerSecond', underWay))),
        microseconds(results.median(reading(name, 'clientMicros', underWay))),
        microseconds(results.median(reading(name, 'serverMicros', underWay))),
        threeDigits(results.median(reading(name, 'roundTrips', underWay))),
      ]),
    ),
  }
}
