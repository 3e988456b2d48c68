// Bytes in MariaDB for each key that was hit: the pages of the table and its indexes, as hits in any order left them, and after
// OPTIMIZE TABLE.

import { createPool } from 'mysql2'
import { LARGE_QUOTA } from '../../quota.mjs'
import { threeDigits } from '../../report/numbers.mjs'
import { loadContestant, POOL_SIZE } from '../contestants.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place, Plan } from '../mysql.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 40_000
const GROUP = 'one hit'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, place }) {
  return [{ name: GROUP, entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, place } })) }]
}

/** @param {{ contestant: string, place: Place }} params */
export async function measure({ contestant, place: { address } }) {
  const pool = createPool({ ...address, connectionLimit: POOL_SIZE })
  const table = `bytes_${contestant.replaceAll('-', '_')}`
  const limiter = await (await loadContestant(contestant)).create(pool, table, LARGE_QUOTA)
  // Steps of a number without common factors visit every key once, in no order.
  const keyAt = (/** @type {number} */ i) => `user:${(i * 7_919) % KEYS}`
  for (let from = 0; from < KEYS; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => limiter.hit(keyAt(from + i))))
  }
  const sizeOf = async () => {
    await pool.promise().query(`ANALYZE TABLE ${table}`)
    const sizes = `SELECT DATA_LENGTH + INDEX_LENGTH AS bytes FROM information_schema.TABLES WHERE TABLE_NAME = '${table}'`
    const [rows] = await pool.promise().query(sizes)
    return Number(/** @type {any} */ (rows)[0].bytes) / KEYS
  }
  const afterHits = await sizeOf()
  await pool.promise().query(`OPTIMIZE TABLE ${table}`)
  const packed = await sizeOf()
  await pool.promise().query(`DROP TABLE ${table}`)
  await pool.promise().end()
  return { afterHits, packed }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const of = (/** @type {string} */ contestant, /** @type {string} */ field) => results.median([name, GROUP, contestant, field])
  return {
    title: 'Bytes a key',
    note: `Table and indexes for ${KEYS.toLocaleString('en')} keys such as user:42, one hit each.`,
    columns: ['contestant', 'after the hits', 'after OPTIMIZE TABLE'],
    rows: contestants.map(({ name }) => [name, threeDigits(of(name, 'afterHits')), threeDigits(of(name, 'packed'))]),
  }
}
