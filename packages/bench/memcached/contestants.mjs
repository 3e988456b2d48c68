// The contestants of the memcached bench, and their interface.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */

/**
 * A limiter under test. `hit` returns the promise of the library, and `isAllowed` reads its result.
 * @typedef {object} Limiter
 * @property {(key: string) => Promise<any>} hit
 * @property {(answer: any) => boolean} isAllowed
 * @property {() => unknown} close
 */

/**
 * Makes a limiter on the server at `port` on loopback, with the quota of each key.
 * @typedef {(port: number, quota: { limit: number, windowMs: number }) => Limiter} Create
 */

/** @typedef {AnyContestant & { create: Create }} Contestant */

const FOLDER = new URL('./contestants/', import.meta.url)

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
