// A reserve and its settle beside a hit, in turns.
// Run as a thread this file is one side of a pair: it fills a limiter with keys, and hits them or reserves when it is its turn.

import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { createLimiter, fixedWindow, holds } from 'sluice'
import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, times } from '../../report/numbers.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { assertHolds, fill, newWalk, syncChunk } from '../traffic.mjs'
import { ratioOf, serveTurns, Turns } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Limiter } from '../contestants.mjs' */
/** @import { Plan } from '../memory.mjs' */

export const name = 'holds'
export const file = import.meta.url

export const ENTRANT = 'reserve + settle'
const keyCounts = [1_000, 1_000_000]
export const groupNames = keyCounts.map(keyCount)

/** @typedef {{ keys: number, reserves: boolean }} Params */

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  const pairs = Math.round(timing.timedMs / 4)
  return keyCounts.map((keys) => ({ name: keyCount(keys), entrants: [{ name: ENTRANT, params: { keys, pairs } }] }))
}

/** @param {{ keys: number, pairs: number }} params */
export async function measure({ keys, pairs }) {
  const [hits, reserves] = [false, true].map((each) => new Turns(import.meta.url, { keys, reserves: each }))
  await Promise.all([hits.ready(), reserves.ready()])
  const ratio = ratioOf(hits, reserves, pairs)
  await Promise.all([hits.end(), reserves.end()])
  return { ratio }
}

/** @returns {Limiter} */
function reservingLimiter() {
  const limiter = createLimiter({
    rules: fixedWindow({ limit: LARGE_QUOTA.limit, window: LARGE_QUOTA.windowMs }),
    holds: holds(),
  })
  return {
    hit: (key) => {
      const hold = limiter.reserve(key, { hold: 1 })
      hold.settle(1)
      return hold
    },
    isAllowed: (hold) => hold.allowed,
    size: () => Number.NaN,
  }
}

/** @param {Params} params */
async function serve({ keys, reserves }) {
  const plain = limiterOver(fixedWindow({ limit: LARGE_QUOTA.limit, window: LARGE_QUOTA.windowMs }), keys)
  const limiter = reserves ? reservingLimiter() : plain
  await fill(limiter, false, keys)
  if (!reserves) assertHolds(plain, keys)
  const walk = newWalk()
  parentPort?.postMessage('ready')
  serveTurns(workerData.words, (calls) => {
    if (syncChunk(limiter, walk, keys, calls) !== calls) throw new Error('calls below the limit were denied')
  })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Holds: the time of a reserve and its settle, as a multiple of that of a hit',
    note: 'Both in one process, in threads of their own that take turns of a few milliseconds. Ratios are taken between neighbours.',
    columns: ['work', ...groupNames],
    rows: [[ENTRANT, ...groupNames.map((group) => times(results.median([name, group, ENTRANT, 'ratio'])))]],
  }
}

if (!isMainThread) await serve(workerData.params)
