// CPU time of a line: a whole simulation beside loops that only split the same file into lines. All take turns in one process.

import { times, withUnit } from '../../report/numbers.mjs'
import { loadContestantsOf } from '../../rounds/contestants.mjs'
import { makeLog, race, ratioOf, timeOf } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../simulate.mjs' */
/** @import { LogContestant } from '../traffic.mjs' */

export const name = 'lines'
export const file = import.meta.url
export const GROUP = 'combined log'

/** All contestants together, in one process. */
export const TOGETHER = 'in turns'

const WARM_UP_LAPS = 4

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return [{ name: GROUP, entrants: [{ name: TOGETHER, params: timing }] }]
}

/** @param {{ lines: number, laps: number }} params */
export async function measure({ lines, laps }) {
  const contestants = /** @type {LogContestant[]} */ (await loadContestantsOf(new URL('../contestants/', import.meta.url)))
  const log = makeLog(lines)
  try {
    return await race(contestants, { file: log.file, lines, laps, warmUpLaps: WARM_UP_LAPS })
  } finally {
    log.remove()
  }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants, timing }, results) {
  const floors = contestants.filter(({ role }) => role === 'floor')
  const read = (/** @type {string} */ field) => results.median([name, GROUP, TOGETHER, field])
  return {
    title: 'CPU time of a line of a combined log',
    note: `A file of ${timing.lines.toLocaleString('en-US')} lines of about 190 bytes and up to 20,000 clients, under three policies. The loops only split it into lines and count them.`,
    columns: ['contestant', 'CPU time a line', ...floors.map((floor) => `of ${floor.name}`)],
    rows: contestants.map((contestant) => [
      contestant.name,
      withUnit(read(timeOf(contestant.name)), ' ns'),
      ...floors.map((floor) => times(read(ratioOf(contestant.name, floor.name)))),
    ]),
  }
}
