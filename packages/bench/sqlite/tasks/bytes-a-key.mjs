// Bytes in the file for each key that was hit: the size of the file after its log was written back.

import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, threeDigits, times } from '../../report/numbers.mjs'
import { EVERY_RULE } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { loadContestant } from '../contestants.mjs'
import { openFile } from '../files.mjs'
import { fill } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../sqlite.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 100_000
export const GROUP = keyCount(KEYS)

/** Rules of ours that keep other state than a fixed window. gcra and leakyBucket keep the same state as tokenBucket. */
const OTHER_RULES = ['slidingWindow', 'tokenBucket', 'slidingLog, 10 in 1 s']

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants }) {
  const ofContestants = contestants.map(({ name }) => ({ name, params: { contestant: name } }))
  const ofRules = OTHER_RULES.map((rule) => ({ name: rule, params: { rule } }))
  return [{ name: GROUP, entrants: [...ofContestants, ...ofRules] }]
}

/** @param {{ contestant?: string, rule?: string }} params */
export async function measure({ contestant = 'sluice', rule }) {
  const file = openFile()
  const { isAsync, create } = await loadContestant(contestant)
  const limiter = rule === undefined ? await create(file.connection, LARGE_QUOTA) : limiterOver(EVERY_RULE[rule], file.connection)
  await fill({ name: contestant, isAsync, limiter }, KEYS)
  const bytes = file.bytes()
  file.remove()
  return { bytes: bytes / KEYS }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const rows = [...contestants.map(({ name }) => name), ...OTHER_RULES]
  return {
    title: `Bytes a key, at ${GROUP}`,
    note: 'The size of the file, for keys such as user:42 and one hit each. The last rows are other rules of ours.',
    columns: ['contestant', 'bytes a key', 'times the bytes of sluice'],
    rows: rows.map((entrant) => [
      entrant,
      threeDigits(results.median([name, GROUP, entrant, 'bytes'])),
      times(results.medianRatio([name, GROUP, entrant, 'bytes'], [name, GROUP, 'sluice', 'bytes'])),
    ]),
  }
}
