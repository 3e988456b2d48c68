// Every rule of ours, side by side.

import { microseconds, percent, perSecond } from '../../report/numbers.mjs'
import { EVERY_RULE } from '../../rules.mjs'
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

export const name = 'every rule'
export const file = import.meta.url

export const GROUP = `${MANY} under way`

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ server, timing }) {
  const entrants = Object.keys(EVERY_RULE).map((rule) => ({ name: rule, params: { rule, place: server, timing } }))
  return [{ name: GROUP, turns: timing.turns, entrants, prepare: () => empty(server) }]
}

/** @param {{ rule: string, place: Place, timing: Timing }} params */
export async function start({ rule, place, timing }) {
  const connection = await connect('ioredis', place)
  return turnsOf({ limiter: limiterOver(EVERY_RULE[rule], connection), connection, place, sends, timing })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: `Every rule, ${MANY} hits under way, through ioredis`,
    note: 'Quotas are out of reach, except where the row names one.',
    columns: ['rule', 'decisions a second', 'allowed', 'client CPU', 'Redis CPU', 'of it in commands'],
    rows: Object.keys(EVERY_RULE).map((rule) => row(results, rule)),
  }
}

/**
 * @param {Results} results
 * @param {string} rule
 */
function row(results, rule) {
  const median = (/** @type {string} */ field) => results.median([name, GROUP, rule, field])
  return [
    rule,
    perSecond(median('hitsPerSecond')),
    percent(median('allowedShare')),
    microseconds(median('clientMicros')),
    microseconds(median('redisMicros')),
    microseconds(median('commandMicros')),
  ]
}
