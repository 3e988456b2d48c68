// The meters beside the fixed window: the time of a hit, in turns, and bytes a key.
// Run as a thread this file is one side of a pair: it fills a limiter with keys and hits them when it is its turn.

import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { keyCount, threeDigits, times } from '../../report/numbers.mjs'
import { EVERY_RULE, METERS } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { assertHolds, fill, newWalk, syncChunk } from '../traffic.mjs'
import { ratioOf, serveTurns, Turns } from '../turns.mjs'
import { heldBytes } from './bytes-a-key.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memory.mjs' */

export const name = 'meters'
export const file = import.meta.url

export const meters = Object.keys(METERS)
const keyCounts = [1_000, 1_000_000]
const mostKeys = 1_000_000

/** Groups of the times. */
export const timeGroups = keyCounts.map(keyCount)
export const bytesGroup = `bytes, ${keyCount(mostKeys)}`

/** @typedef {{ rule: string, keys: number, pairs?: number }} Params */

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  const pairs = Math.round(timing.timedMs / 2)
  const entrants = (/** @type {object} */ params) => meters.map((rule) => ({ name: rule, params: { rule, ...params } }))
  return [
    ...keyCounts.map((keys) => ({ name: keyCount(keys), entrants: entrants({ keys, pairs }) })),
    { name: bytesGroup, entrants: entrants({ keys: mostKeys }), nodeFlags: ['--expose-gc'] },
  ]
}

/** @param {Params} params */
export async function measure({ rule, keys, pairs }) {
  return pairs === undefined ? measureBytes(rule, keys) : measureTime(rule, keys, pairs)
}

/**
 * @param {string} rule
 * @param {number} keys
 * @param {number} pairs
 */
async function measureTime(rule, keys, pairs) {
  const [ours, floor] = [rule, 'fixedWindow'].map((each) => new Turns(import.meta.url, { rule: each, keys }))
  await Promise.all([ours.ready(), floor.ready()])
  const ratio = ratioOf(floor, ours, pairs)
  await Promise.all([ours.end(), floor.end()])
  return { ratio }
}

/**
 * @param {string} rule
 * @param {number} keys
 */
async function measureBytes(rule, keys) {
  const before = heldBytes()
  const limiter = limiterOver(EVERY_RULE[rule], keys)
  await fill(limiter, false, keys)
  const held = heldBytes() - before
  assertHolds(limiter, keys)
  return { bytesAKey: held / keys }
}

/** @param {Params} params */
async function serve({ rule, keys }) {
  const limiter = limiterOver(EVERY_RULE[rule], keys)
  await fill(limiter, false, keys)
  assertHolds(limiter, keys)
  const walk = newWalk()
  parentPort?.postMessage('ready')
  serveTurns(workerData.words, (hits) => {
    if (syncChunk(limiter, walk, keys, hits) !== hits) throw new Error(`${rule} denied hits that were below the limit`)
  })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Meters: the time of a hit, as a multiple of that of a fixed window, and bytes a key',
    note: 'Both in one process, in threads of their own that take turns of a few milliseconds. Ratios are taken between neighbours.',
    columns: ['rule', ...timeGroups, bytesGroup],
    rows: meters.map((rule) => [
      rule,
      ...timeGroups.map((group) => times(results.median([name, group, rule, 'ratio']))),
      threeDigits(results.median([name, bytesGroup, rule, 'bytesAKey'])),
    ]),
  }
}

if (!isMainThread) await serve(workerData.params)
