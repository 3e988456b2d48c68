// Decisions through a pool: every contestant through one of the same size, the same fixed window, allowed hits.

import pg from 'pg'
import { LARGE_QUOTA } from '../../quota.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { columnsTo, measureUnderWay, name, readingIn, rowsOf } from '../../rounds/hits-under-way.mjs'
import { loadContestant, openPool, POOL_SIZE } from '../contestants.mjs'
import { usageOf } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../postgres.mjs' */

export { name }
export const file = import.meta.url

const GROUP = 'pg'
export const reading = readingIn(GROUP)

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, timing, url }) {
  return [{ name: GROUP, entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, timing, url } })) }]
}

/** @param {{ contestant: string, timing: Timing, url: string }} params */
export async function measure({ contestant, timing, url }) {
  const observer = new pg.Client({ connectionString: url })
  await observer.connect()
  const pool = openPool(url)
  const table = `bench_${contestant.replaceAll('-', '_')}`
  await observer.query(`DROP TABLE IF EXISTS ${table}`)
  const { create } = await loadContestant(contestant)
  const limiter = await create(pool, table, LARGE_QUOTA)
  const numbers = await measureUnderWay({ contestant, limiter, timing, usage: () => usageOf(observer) })
  await observer.query(`DROP TABLE ${table}`)
  await pool.end()
  await observer.end()
  return numbers
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const [{ name: peer }] = contestants.filter(({ role }) => role === 'peer')
  return {
    title: `Decisions through a pool of ${POOL_SIZE} connections`,
    note: `Over ${KEYS.toLocaleString('en')} keys, without waiting for the disk (synchronous_commit off) for all of them.`,
    columns: columnsTo(peer),
    rows: rowsOf({ contestants, base: peer, results, reading }),
  }
}
