// A flood of keys that nobody has seen before, up to the bound of the store and past it. Past the bound each new key takes the
// place of another, which must cost no more than making it.
// Each hit past the bound is timed by itself as well; making its key is not in that time.

import { createLimiter, fixedWindow, memoryStore, slidingLog } from 'sluice'
import { LARGE_QUOTA } from '../../quota.mjs'
import { keyCount, milliseconds, perSecond, times } from '../../report/numbers.mjs'
import { median } from '../../rounds/results.mjs'
import { METERS } from '../../rules.mjs'

/** @import { Rule } from 'sluice' */
/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */

export const name = 'flood'
export const file = import.meta.url

const { limit, windowMs } = LARGE_QUOTA

/** States of the store. The first is the default. */
const BOUNDS = [1_000_000, 50_000]

/** Rules whose states differ in width. */
const RULES = [fixedWindow({ limit, window: windowMs }), METERS.tokenBucket, slidingLog({ limit: 100, window: windowMs })]

/** Every bound with each number of widths: what is measured, and what the bars are about. */
export const floods = BOUNDS.flatMap((maxKeys) =>
  RULES.map((_, i) => ({
    group: `maxKeys of ${keyCount(maxKeys)}`,
    entrant: i === 0 ? '1 width' : `${i + 1} widths`,
    params: { maxKeys, widths: i + 1 },
  })),
)

/** @returns {Group[]} */
export function groups() {
  return floods.map(({ group, entrant, params }) => ({ name: group, entrants: [{ name: entrant, params }] }))
}

/** Stores that are filled before the first that counts, so that what they run is compiled. */
const WARM_UPS = 1
const STORES = 3

/** @param {{ maxKeys: number, widths: number }} params */
export async function measure({ maxKeys, widths }) {
  const tries = Array.from({ length: WARM_UPS + STORES }, (_, i) => floodOnce(RULES.slice(0, widths), maxKeys, i)).slice(WARM_UPS)
  return {
    before: median(tries.map(({ before }) => before)),
    past: median(tries.map(({ past }) => past)),
    ratio: median(tries.map(({ before, past }) => past / before)),
    worstMs: median(tries.map(({ worstMs }) => worstMs)),
  }
}

/**
 * @param {Rule[]} rules
 * @param {number} maxKeys
 * @param {number} salt
 */
function floodOnce(rules, maxKeys, salt) {
  const store = memoryStore({ maxKeys })
  const limiter = createLimiter({ rules, store })
  const keys = Math.floor(maxKeys / rules.length)
  const before = rateOf(limiter, `a${salt}:`, keys)
  const past = rateOf(limiter, `b${salt}:`, keys)
  let worstMs = 0
  for (let i = 0; i < keys; i++) {
    const key = `c${salt}:${i}`
    const startMs = performance.now()
    limiter.hit(key)
    worstMs = Math.max(worstMs, performance.now() - startMs)
  }
  if (store.size > maxKeys || store.evictions < keys)
    throw new Error(`it holds ${store.size} of ${maxKeys} and evicted ${store.evictions}`)
  store.close()
  return { before, past, worstMs }
}

/**
 * @param {{ hit(key: string): unknown }} limiter
 * @param {string} prefix
 * @param {number} keys
 */
function rateOf(limiter, prefix, keys) {
  const startMs = performance.now()
  for (let i = 0; i < keys; i++) limiter.hit(`${prefix}${i}`)
  return (keys / (performance.now() - startMs)) * 1000
}

/**
 * @param {unknown} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Only new keys, up to maxKeys and past it',
    note: 'One fixed window; with a token bucket; and with a sliding log. Collections and the machine’s noise are in the worst hit.',
    columns: ['store', 'states of', 'before the bound', 'past it', 'ratio', 'worst hit past it'],
    rows: floods.map(({ group, entrant }) => [
      group,
      entrant,
      perSecond(results.median([name, group, entrant, 'before'])),
      perSecond(results.median([name, group, entrant, 'past'])),
      times(results.median([name, group, entrant, 'ratio'])),
      milliseconds(results.median([name, group, entrant, 'worstMs'])),
    ]),
  }
}
