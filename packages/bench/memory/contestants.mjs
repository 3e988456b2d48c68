// The contestants of the memory bench, and their interface.

import { loadContestantOf, loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Contestant as AnyContestant } from '../rounds/contestants.mjs' */

/**
 * Options of a contestant: the quota of each key, and the number of keys that it must hold.
 * @typedef {{ limit: number, windowMs: number, keys: number }} Quota
 */

/**
 * A limiter under test. `hit` returns what the library returns, awaited by the caller if the contestant is
 * async, and `isAllowed` reads it: so nobody pays for a promise that the library did not ask for.
 * @typedef {object} Limiter
 * @property {(key: string) => any} hit
 * @property {(answer: any) => boolean} isAllowed
 * @property {() => number} [size] how many keys it holds; given by those that may drop some
 */

/** @typedef {(quota: Quota) => Limiter} Create */

/** @typedef {AnyContestant & { isAsync: boolean, create: Create }} Contestant */

const FOLDER = new URL('./contestants/', import.meta.url)

/** @param {string} name */
export async function loadContestant(name) {
  return /** @type {Contestant} */ (await loadContestantOf(FOLDER, name))
}

export async function loadContestants() {
  return /** @type {Contestant[]} */ (await loadContestantsOf(FOLDER))
}
