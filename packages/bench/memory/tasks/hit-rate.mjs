// Decisions a second as the number of live keys grows: every contestant, the same fixed window, hits that are allowed.

import { totalmem } from 'node:os'
import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, perSecond, times } from '../../report/numbers.mjs'
import { loadContestant } from '../contestants.mjs'
import { assertHolds, fill, hitForAWhile } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'hit rate'
export const file = import.meta.url

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, timing, full }) {
  const keyCounts = [1, 1_000, 100_000, 1_000_000, ...(full ? [10_000_000] : [])]
  return keyCounts.map((keys) => ({
    name: keyCount(keys),
    nodeFlags: keys > 1_000_000 ? [largeHeap()] : [],
    entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, keys, ...timing } })),
  }))
}

/** Node's own limit on the heap is some 4 GB, which 10 M keys of a peer exceed. */
function largeHeap() {
  return `--max-old-space-size=${Math.floor((totalmem() / 2 ** 20) * 0.8)}`
}

/** @param {{ contestant: string, keys: number } & Timing} params */
export async function measure({ contestant, keys, warmUpMs, timedMs }) {
  const { create, isAsync } = await loadContestant(contestant)
  const limiter = create({ ...LARGE_QUOTA, keys })
  await fill(limiter, isAsync, keys)
  assertHolds(limiter, keys)
  const { hitsPerSecond, allowedShare } = await hitForAWhile(limiter, isAsync, { keys, warmUpMs, timedMs })
  if (allowedShare !== 1) throw new Error(`${contestant} denied hits that were below the limit`)
  return { hitsPerSecond }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(plan, results) {
  const groupNames = groups(plan).map((group) => group.name)
  return {
    title: 'Decisions a second: `hit`, fixed window, fresh key strings, by live keys',
    note:
      'The limit is out of reach, so every hit is allowed. Keys are hit in random order. ' +
      'In brackets: how many times as fast sluice is.',
    columns: ['contestant', ...groupNames],
    rows: plan.contestants.map((contestant) => [
      contestant.name,
      ...groupNames.map((group) => cell(results, group, contestant.name)),
    ]),
  }
}

/**
 * @param {Results} results
 * @param {string} group
 * @param {string} contestant
 */
function cell(results, group, contestant) {
  const rate = results.median([name, group, contestant, 'hitsPerSecond'])
  if (Number.isNaN(rate)) return 'failed'
  const ratio = results.medianRatio([name, group, 'sluice', 'hitsPerSecond'], [name, group, contestant, 'hitsPerSecond'])
  return `${perSecond(rate)} (${times(ratio)})`
}
