// Who takes part: every file in contestants/, under its file name. Adding one is adding a file.

import { readdirSync, readFileSync } from 'node:fs'

/** @import { Table } from '../report/table.mjs' */

/**
 * What a contestant is told: the quota of each key, and how many keys it will be asked to hold.
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

/**
 * `role` decides which bars a contestant is in: a peer keeps keys by itself; an aside is shown and in no bar.
 * @typedef {object} Contestant
 * @property {string} name
 * @property {'sluice' | 'peer' | 'aside' | 'floor'} role
 * @property {string | null} packageName
 * @property {string} call the cheapest public path to a decision, as it is called here
 * @property {boolean} isAsync
 * @property {Create} create
 */

const folder = new URL('./contestants/', import.meta.url)
const rolesInOrder = ['sluice', 'peer', 'aside', 'floor']

/**
 * @param {string} name
 * @returns {Promise<Contestant>}
 */
export async function loadContestant(name) {
  return { name, ...(await import(new URL(`${name}.mjs`, folder).href)) }
}

/** @returns {Promise<Contestant[]>} all of them, ours first and the floor last */
export async function loadContestants() {
  const names = readdirSync(folder).map((file) => file.replace(/\.mjs$/, ''))
  const contestants = await Promise.all(names.map(loadContestant))
  return contestants.sort((a, b) => rolesInOrder.indexOf(a.role) - rolesInOrder.indexOf(b.role))
}

/**
 * @param {Contestant[]} contestants
 * @returns {Table}
 */
export function contestantTable(contestants) {
  return {
    title: 'Contestants',
    columns: ['contestant', 'version', 'what is called'],
    rows: contestants.map(({ name, packageName, call }) => [name, versionOf(packageName), call]),
  }
}

/** @param {string | null} packageName */
function versionOf(packageName) {
  if (packageName === null) return 'none'
  if (packageName === 'sluice') return 'this tree'
  const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return devDependencies[packageName]
}
