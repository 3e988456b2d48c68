// Every rule of ours beside each other; of the log one that is nearly always over its limit, and one that is below it.

import { keyCount, percent, perSecond } from '../../report/numbers.mjs'
import { EVERY_RULE } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { fill, TURNS, turnsOf } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'every rule'
export const file = import.meta.url

const KEY_COUNTS = [1_000, 1_000_000]

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return KEY_COUNTS.map((keys) => ({
    name: keyCount(keys),
    turns: TURNS,
    entrants: Object.keys(EVERY_RULE).map((rule) => ({ name: rule, params: { rule, keys, ...timing } })),
  }))
}

/** @param {{ rule: string, keys: number } & Timing} params */
export async function start({ rule, keys, warmUpMs, timedMs }) {
  const limiter = limiterOver(EVERY_RULE[rule], keys)
  await fill(limiter, false, keys)
  return turnsOf(limiter, false, { keys, warmUpMs, timedMs })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  const groupNames = KEY_COUNTS.map(keyCount)
  return {
    title: 'Decisions a second of every rule, by keys',
    note: 'In brackets: the share of hits that were allowed. Quotas are out of reach, except where the row names one.',
    columns: ['rule', ...groupNames],
    rows: Object.keys(EVERY_RULE).map((rule) => [rule, ...groupNames.map((group) => cell(results, group, rule))]),
  }
}

/**
 * @param {Results} results
 * @param {string} group
 * @param {string} rule
 */
function cell(results, group, rule) {
  const rate = results.median([name, group, rule, 'hitsPerSecond'])
  const allowedShare = results.median([name, group, rule, 'allowedShare'])
  return `${perSecond(rate)} (${percent(allowedShare)})`
}
