// Decisions through a pool: every contestant through one of the same size, the same fixed window, allowed hits.

import { createPool } from 'mysql2'
import { LARGE_QUOTA } from '../../quota.mjs'
import { threeDigits } from '../../report/numbers.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { columnsTo, measureUnderWay, name, readingIn, rowsOf } from '../../rounds/hits-under-way.mjs'
import { loadContestant, POOL_SIZE } from '../contestants.mjs'
import { usageOf } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place, Plan } from '../mysql.mjs' */

export { name }
export const file = import.meta.url

const GROUP = 'mysql2'
export const reading = readingIn(GROUP)

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
  const numbers = await measureUnderWay({ contestant, limiter, timing, usage: () => usageOf(pool, pid) })
  await pool.promise().query(`DROP TABLE ${table}`)
  await pool.promise().end()
  return numbers
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const [{ name: peer }] = contestants.filter(({ role }) => role === 'peer')
  const roundTrips = (/** @type {string} */ contestant, /** @type {number} */ underWay) =>
    threeDigits(results.median(reading(contestant, 'roundTrips', underWay)))
  return {
    title: `Decisions through a pool of ${POOL_SIZE} connections`,
    note: `Over ${KEYS.toLocaleString('en')} keys, on MariaDB, without waiting for the disk (innodb_flush_log_at_trx_commit = 2).`,
    columns: [...columnsTo(peer), 'round trips'],
    rows: rowsOf({ contestants, base: peer, results, reading, more: (...of) => [roundTrips(...of)] }),
  }
}
