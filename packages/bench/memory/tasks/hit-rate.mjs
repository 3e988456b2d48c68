// Decisions a second as the number of live keys grows: every contestant, the same fixed window, hits that are allowed.

import { totalmem } from 'node:os'
import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, perSecond, times } from '../../report/numbers.mjs'
import { loadContestant } from '../contestants.mjs'
import { assertHolds, fill, TURNS, turnsOf } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { TurnTaker } from '../../rounds/measure-in-turns.mjs' */
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
    // All contestants at once have not enough memory for more keys.
    ...(keys > 1_000_000 ? { nodeFlags: [largeHeap()] } : { turns: TURNS }),
    entrants: contestants.map(({ name }) => ({ name, params: { contestant: name, keys, ...timing } })),
  }))
}

/** Node's own limit on the heap is some 4 GB, which 10 M keys of a peer exceed. */
function largeHeap() {
  return `--max-old-space-size=${Math.floor((totalmem() / 2 ** 20) * 0.8)}`
}

/**
 * @param {{ contestant: string, keys: number } & Timing} params
 * @returns {Promise<TurnTaker>}
 */
export async function start({ contestant, keys, ...timing }) {
  const { create, isAsync } = await loadContestant(contestant)
  const limiter = create({ ...LARGE_QUOTA, keys })
  await fill(limiter, isAsync, keys)
  assertHolds(limiter, keys)
  const { takeTurn, close } = await turnsOf(limiter, isAsync, { keys, ...timing })
  return {
    async takeTurn() {
      const { hitsPerSecond, allowedShare } = await takeTurn()
      if (allowedShare !== 1) throw new Error(`${contestant} denied hits that were below the limit`)
      return { hitsPerSecond }
    },
    close,
  }
}

/**
 * One long turn.
 * @param {{ contestant: string, keys: number } & Timing} params
 */
export async function measure({ timedMs, ...params }) {
  const { takeTurn } = await start({ ...params, timedMs: timedMs * TURNS })
  return takeTurn()
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
