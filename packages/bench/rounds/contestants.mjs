// The contestants of a bench: every file of a folder, named by its file. To add a contestant, add a file.

import { readdirSync, readFileSync } from 'node:fs'

/** @import { Table } from '../report/table.mjs' */

/**
 * `role` selects the bars of a contestant. A peer is in the bars, an aside is only shown, a floor is a lower bound.
 * Each bench defines the parameters and the result of `create`.
 * @typedef {object} Contestant
 * @property {string} name
 * @property {'sluice' | 'peer' | 'aside' | 'floor'} role
 * @property {string | null} packageName
 * @property {string} call the cheapest public path to a decision, as text for the table
 */

const ROLES_IN_ORDER = ['sluice', 'peer', 'aside', 'floor']

/**
 * @param {URL} folder
 * @param {string} name
 * @returns {Promise<Contestant>}
 */
export async function loadContestantOf(folder, name) {
  return { name, ...(await import(new URL(`${name}.mjs`, folder).href)) }
}

/**
 * @param {URL} folder
 * @returns {Promise<Contestant[]>} all of them, sluice first and the floor last
 */
export async function loadContestantsOf(folder) {
  const names = readdirSync(folder).map((file) => file.replace(/\.mjs$/, ''))
  const contestants = await Promise.all(names.map((name) => loadContestantOf(folder, name)))
  return contestants.sort((a, b) => ROLES_IN_ORDER.indexOf(a.role) - ROLES_IN_ORDER.indexOf(b.role))
}

/**
 * @param {readonly Contestant[]} contestants
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
  const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const version = devDependencies[packageName]
  return version === '*' ? 'this tree' : version
}
