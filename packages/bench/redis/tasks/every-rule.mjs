// Every rule of ours, side by side.

import { microseconds, percent, perSecond } from '../../report/numbers.mjs'
import { everyRule } from '../../rules.mjs'
import { connect } from '../connections.mjs'
import { limiterOver, sends } from '../contestants/sluice.mjs'
import { trafficOn } from '../traffic.mjs'
import { empty } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Place } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'every rule'
export const file = import.meta.url

const underWay = 128
const group = `${underWay} under way`

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ server, timing }) {
  const entrants = Object.keys(everyRule).map((rule) => ({ name: rule, params: { rule, place: server, timing } }))
  return [{ name: group, entrants }]
}

/** @param {{ rule: string, place: Place, timing: Timing }} params */
export async function measure({ rule, place, timing }) {
  await empty(place)
  const connection = await connect('ioredis', place)
  const traffic = trafficOn(limiterOver(everyRule[rule], connection))
  await traffic.warmUp(timing.warmUpMs)
  const numbers = await traffic.measure({ place, sends, underWay, ...timing })
  connection.close()
  return numbers
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: `Every rule, ${underWay} hits under way, through ioredis`,
    note: 'Quotas are out of reach, except where the row names one.',
    columns: ['rule', 'decisions a second', 'allowed', 'client CPU', 'Redis CPU', 'of it in commands'],
    rows: Object.keys(everyRule).map((rule) => row(results, rule)),
  }
}

/**
 * @param {Results} results
 * @param {string} rule
 */
function row(results, rule) {
  const median = (/** @type {string} */ field) => results.median([name, group, rule, field])
  return [
    rule,
    perSecond(median('hitsPerSecond')),
    percent(median('allowedShare')),
    microseconds(median('clientMicros')),
    microseconds(median('redisMicros')),
    microseconds(median('commandMicros')),
  ]
}
