// Decisions a second as the number of live keys grows: every contestant, the same fixed window, hits that are allowed.

import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, perSecond, times } from '../../report/numbers.mjs'
import { loadContestants } from '../contestants.mjs'
import { openFile } from '../files.mjs'
import { fill, race, rateOf, ratioTo } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../sqlite.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'hit rate'
export const file = import.meta.url

export const KEY_COUNTS = [1, 1_000, 100_000]

/** All contestants together, in one process. */
export const TOGETHER = 'in turns'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return KEY_COUNTS.map((keys) => ({ name: keyCount(keys), entrants: [{ name: TOGETHER, params: { keys, ...timing } }] }))
}

/** @param {{ keys: number } & Timing} params */
export async function measure({ keys, ...timing }) {
  const contestants = await loadContestants()
  const files = contestants.map(() => openFile())
  const entrants = await Promise.all(
    contestants.map(async ({ name, isAsync, create }, i) => {
      return { name, isAsync, limiter: await create(files[i].connection, LARGE_QUOTA) }
    }),
  )
  for (const entrant of entrants) await fill(entrant, keys)
  const numbers = await race(entrants, { keys, ...timing })
  for (const file of files) file.remove()
  return numbers
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const groupNames = KEY_COUNTS.map(keyCount)
  return {
    title: 'Decisions a second: `hit`, fixed window, a file with WAL and `synchronous = NORMAL`, by live keys',
    note: 'Through better-sqlite3. Every hit is allowed and written. In brackets: how many times as fast sluice is.',
    columns: ['contestant', ...groupNames],
    rows: contestants.map((contestant) => [
      contestant.name,
      ...groupNames.map((group) => {
        const read = (/** @type {string} */ field) => results.median([name, group, TOGETHER, field])
        return `${perSecond(read(rateOf(contestant.name)))} (${times(read(ratioTo(contestant.name)))})`
      }),
    ]),
  }
}
