// The cost of several rules in one limiter: 1 to 8 fixed windows of different lengths, decided together, all or nothing.

import { microseconds, perSecond, times } from '../../report/numbers.mjs'
import { severalRules } from '../../rules.mjs'
import { connect } from '../connections.mjs'
import { limiterOver, sends } from '../contestants/sluice.mjs'
import { MANY, turnsOf } from '../turns.mjs'
import { empty } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */

export const name = 'several rules'
export const file = import.meta.url

export const GROUP = `${MANY} under way`
const RULE_COUNTS = [1, 2, 4, 8]

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ server, timing }) {
  const entrants = RULE_COUNTS.map((count) => ({ name: String(count), params: { count, place: server, timing } }))
  return [{ name: GROUP, turns: timing.turns, entrants, prepare: () => empty(server) }]
}

/** @param {{ count: number, place: Place, timing: Timing }} params */
export async function start({ count, place, timing }) {
  const connection = await connect('ioredis', place)
  return turnsOf({ limiter: limiterOver(severalRules(count), connection), connection, place, sends, timing })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: `Several rules in one limiter, ${MANY} hits under way, through ioredis`,
    note: 'In brackets: the time of a decision, as a multiple of the time with one rule.',
    columns: ['fixed windows', 'decisions a second', 'client CPU', 'Redis CPU', 'of it in commands'],
    rows: RULE_COUNTS.map((count) => row(results, String(count))),
  }
}

/**
 * @param {Results} results
 * @param {string} count
 */
function row(results, count) {
  const median = (/** @type {string} */ field) => results.median([name, GROUP, count, field])
  const ratio = results.medianRatio([name, GROUP, '1', 'hitsPerSecond'], [name, GROUP, count, 'hitsPerSecond'])
  return [
    count,
    `${perSecond(median('hitsPerSecond'))} (${times(ratio)})`,
    microseconds(median('clientMicros')),
    microseconds(median('redisMicros')),
    microseconds(median('commandMicros')),
  ]
}
