// The contestants of the Redis bench, and their interface.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */
/** @import { Limiter } from '../rounds/hits.mjs' */
/** @import { Connection } from './connections.mjs' */

/**
 * Makes a limiter from a connection and the quota of each key.
 * @typedef {(connection: Connection, quota: { limit: number, windowMs: number }) => Limiter | Promise<Limiter>} Create
 */

/**
 * `sends` are the commands that the client sends, under the names that Redis counts. Commands inside a script are not included.
 * @typedef {AnyContestant & { sends: string[], create: Create }} Contestant
 */

const FOLDER = new URL('./contestants/', import.meta.url)

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
