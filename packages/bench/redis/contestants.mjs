// Who takes part in the Redis bench, and what a contestant is.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */
/** @import { Connection } from './connections.mjs' */

/**
 * A limiter under test. `hit` returns the promise that the library returns, and `isAllowed` reads what it resolves to.
 * @typedef {object} Limiter
 * @property {(key: string) => Promise<any>} hit
 * @property {(answer: any) => boolean} isAllowed
 */

/**
 * What a contestant is told: its connection, and the quota of each key.
 * @typedef {(connection: Connection, quota: { limit: number, windowMs: number }) => Limiter | Promise<Limiter>} Create
 */

/**
 * `sends` are the commands that travel, as Redis counts them; what a script calls on the server does not.
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
