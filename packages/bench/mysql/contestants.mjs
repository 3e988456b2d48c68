// The contestants of the MySQL bench, and their interface.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Pool } from 'mysql2' */
/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */
/** @import { Limiter } from '../rounds/hits.mjs' */

/**
 * Makes a limiter from a pool, the name of a table and the quota of each key.
 * @typedef {(pool: Pool, table: string, quota: { limit: number, windowMs: number }) => Limiter | Promise<Limiter>} Create
 */

/** @typedef {AnyContestant & { create: Create }} Contestant */

const FOLDER = new URL('./contestants/', import.meta.url)

/** Connections of each pool: the default of mysql2. */
export const POOL_SIZE = 10

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
