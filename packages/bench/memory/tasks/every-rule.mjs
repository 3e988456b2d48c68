// Every rule of ours beside each other. Quotas are out of reach, except the log's: it keeps an entry for each hit it
// allowed, so it is shown with limits that somebody would set, once nearly always over the limit and once below it.

import { fixedWindow, gcra, leakyBucket, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import { keyCount, percent, perSecond } from '../../report/numbers.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { fill, hitForAWhile, roomyQuota } from '../traffic.mjs'

/** @import { Rule } from 'sluice' */
/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'every rule'
export const file = import.meta.url

const { limit, windowMs } = roomyQuota
const keyCounts = [1_000, 1_000_000]

/** @type {Record<string, Rule>} */
const rules = {
  fixedWindow: fixedWindow({ limit, window: windowMs }),
  slidingWindow: slidingWindow({ limit, window: windowMs }),
  tokenBucket: tokenBucket({ capacity: limit, refill: limit, every: windowMs }),
  gcra: gcra({ limit, period: windowMs, burst: limit }),
  leakyBucket: leakyBucket({ capacity: limit, leak: limit, every: windowMs }),
  'slidingLog, 10 in 1 s': slidingLog({ limit: 10, window: '1s' }),
  'slidingLog, 100 in 10 ms': slidingLog({ limit: 100, window: '10ms' }),
}

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return keyCounts.map((keys) => ({
    name: keyCount(keys),
    entrants: Object.keys(rules).map((rule) => ({ name: rule, params: { rule, keys, ...timing } })),
  }))
}

/** @param {{ rule: string, keys: number } & Timing} params */
export async function measure({ rule, keys, warmUpMs, timedMs }) {
  const limiter = limiterOver(rules[rule], keys)
  await fill(limiter, false, keys)
  return hitForAWhile(limiter, false, { keys, warmUpMs, timedMs })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  const groupNames = keyCounts.map(keyCount)
  return {
    title: 'Decisions a second of every rule, by keys',
    note: 'In brackets: the share of hits that were allowed. Quotas are out of reach, except where the row names one.',
    columns: ['rule', ...groupNames],
    rows: Object.keys(rules).map((rule) => [rule, ...groupNames.map((group) => cell(results, group, rule))]),
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
