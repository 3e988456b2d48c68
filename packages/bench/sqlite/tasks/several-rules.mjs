// The cost of several rules in one limiter: 1 to 8 fixed windows of different lengths, decided together, all or nothing.

import { perSecond, times } from '../../report/numbers.mjs'
import { severalRules } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { openFile } from '../files.mjs'
import { fill, race, rateOf, ratioTo } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../sqlite.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'several rules'
export const file = import.meta.url

const KEYS = 1_000
const GROUP = '1 k keys'
const TOGETHER = 'in turns'
const RULE_COUNTS = [1, 2, 4, 8]

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return [{ name: GROUP, entrants: [{ name: TOGETHER, params: timing }] }]
}

/** @param {Timing} timing */
export async function measure(timing) {
  const files = RULE_COUNTS.map(() => openFile())
  const entrants = RULE_COUNTS.map((count, i) => {
    return { name: String(count), isAsync: false, limiter: limiterOver(severalRules(count), files[i].connection) }
  })
  for (const entrant of entrants) await fill(entrant, KEYS)
  const numbers = await race(entrants, { keys: KEYS, ...timing })
  for (const file of files) file.remove()
  return numbers
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  const read = (/** @type {string} */ field) => results.median([name, GROUP, TOGETHER, field])
  return {
    title: `Decisions a second with several rules in one limiter, ${GROUP}`,
    note: 'In brackets: the time of a decision, as a multiple of the time with one rule.',
    columns: ['fixed windows', 'decisions a second'],
    rows: RULE_COUNTS.map(String).map((count) => [count, `${perSecond(read(rateOf(count)))} (${times(read(ratioTo(count)))})`]),
  }
}
