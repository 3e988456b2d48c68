// The cost of several rules in one limiter: 1 to 8 fixed windows of different lengths, decided together, all or nothing.

import { keyCount, perSecond, times } from '../../report/numbers.mjs'
import { severalRules } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { fill, TURNS, turnsOf } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'several rules'
export const file = import.meta.url

const KEY_COUNTS = [1_000, 100_000]
const RULE_COUNTS = [1, 2, 4, 8]

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return KEY_COUNTS.map((keys) => ({
    name: keyCount(keys),
    turns: TURNS,
    entrants: RULE_COUNTS.map((ruleCount) => ({ name: String(ruleCount), params: { ruleCount, keys, ...timing } })),
  }))
}

/** @param {{ ruleCount: number, keys: number } & Timing} params */
export async function start({ ruleCount, keys, warmUpMs, timedMs }) {
  const limiter = limiterOver(severalRules(ruleCount), keys * ruleCount)
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
    title: 'Decisions a second with several rules in one limiter, by live keys',
    note: 'In brackets: the time of a decision, as a multiple of the time with one rule.',
    columns: ['fixed windows', ...groupNames],
    rows: RULE_COUNTS.map(String).map((ruleCount) => [ruleCount, ...groupNames.map((group) => cell(results, group, ruleCount))]),
  }
}

/**
 * @param {Results} results
 * @param {string} group
 * @param {string} ruleCount
 */
function cell(results, group, ruleCount) {
  const rate = results.median([name, group, ruleCount, 'hitsPerSecond'])
  const ratio = results.medianRatio([name, group, '1', 'hitsPerSecond'], [name, group, ruleCount, 'hitsPerSecond'])
  return `${perSecond(rate)} (${times(ratio)})`
}
