// Bytes in Postgres for each key that was hit: the table with its index, after VACUUM FULL, and as hits left it.

import pg from 'pg'
import { LARGE_QUOTA } from '../../quota.mjs'
import { threeDigits } from '../../report/numbers.mjs'
import { loadContestant, openPool } from '../contestants.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../postgres.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 4_000
const HITS_A_KEY = 5
const GROUP = `${HITS_A_KEY} hits`

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, url }) {
  return [{ name: GROUP, entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, url } })) }]
}

/** @param {{ contestant: string, url: string }} params */
export async function measure({ contestant, url }) {
  const observer = new pg.Client({ connectionString: url })
  await observer.connect()
  const pool = openPool(url)
  const table = `bytes_${contestant.replaceAll('-', '_')}`
  await observer.query(`DROP TABLE IF EXISTS ${table}`)
  const limiter = await (await loadContestant(contestant)).create(pool, table, LARGE_QUOTA)
  for (let i = 0; i < HITS_A_KEY; i++) {
    for (let from = 0; from < KEYS; from += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, key) => limiter.hit(`user:${from + key}`)))
    }
  }
  const sizeOf = async () =>
    Number((await observer.query(`SELECT pg_total_relation_size('${table}')::float8 AS bytes`)).rows[0].bytes) / KEYS
  const afterHits = await sizeOf()
  await observer.query(`VACUUM FULL ${table}`)
  const packed = await sizeOf()
  await observer.query(`DROP TABLE ${table}`)
  await pool.end()
  await observer.end()
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
    note: `Table and index for ${KEYS.toLocaleString('en')} keys such as user:42, ${HITS_A_KEY} hits each.`,
    columns: ['contestant', 'after the hits', 'after VACUUM FULL'],
    rows: contestants.map(({ name }) => [name, threeDigits(of(name, 'afterHits')), threeDigits(of(name, 'packed'))]),
  }
}
