// The contestants of the Postgres bench, and their interface.

import pg from 'pg'
import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */
/** @import { Limiter } from '../rounds/hits.mjs' */

/**
 * Makes a limiter from a pool, the name of a table and the quota of each key.
 * @typedef {(pool: pg.Pool, table: string, quota: { limit: number, windowMs: number }) => Limiter | Promise<Limiter>} Create
 */

/** @typedef {AnyContestant & { create: Create }} Contestant */

const FOLDER = new URL('./contestants/', import.meta.url)

/** Connections of each pool: the default of pg. */
export const POOL_SIZE = 10

/** @param {string} url */
export function openPool(url) {
  return new pg.Pool({ connectionString: url, max: POOL_SIZE })
}

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
