// The contestants of the SQLite bench, and their interface.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */
/** @import { Connection } from './files.mjs' */

/**
 * A limiter under test. `hit` returns the value or the promise of the library, and `isAllowed` reads its result.
 * @typedef {object} Limiter
 * @property {(key: string) => any} hit
 * @property {(answer: any) => boolean} isAllowed
 */

/** @typedef {(connection: Connection, quota: { limit: number, windowMs: number }) => Limiter | Promise<Limiter>} Create */

/** @typedef {AnyContestant & { isAsync: boolean, create: Create }} Contestant */

const FOLDER = new URL('./contestants/', import.meta.url)

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
