// Bytes in memcached for each key that was hit: the growth of the server's own sum over all items, names included.

import { MemcachedServer } from '../../../../test/servers/memcached-server.mjs'
import { LARGE_QUOTA } from '../../quota.mjs'
import { threeDigits, times } from '../../report/numbers.mjs'
import { EVERY_RULE } from '../../rules.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { loadContestant } from '../contestants.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../memcached.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 1_000
const HITS_A_KEY = 10
export const GROUP = `${HITS_A_KEY} hits`

/** Rules of ours that keep other state than a fixed window. gcra and leakyBucket keep the same state as tokenBucket. */
const OTHER_RULES = ['slidingWindow', 'tokenBucket', 'slidingLog, 10 in 1 s']

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, port }) {
  const ofContestants = contestants.map(({ name }) => ({ name, params: { contestant: name, port } }))
  const ofRules = OTHER_RULES.map((rule) => ({ name: rule, params: { rule, port } }))
  return [{ name: GROUP, entrants: [...ofContestants, ...ofRules] }]
}

/** @param {{ contestant?: string, rule?: string, port: number }} params */
export async function measure({ contestant, rule = '', port }) {
  const server = new MemcachedServer(port, [])
  // Keys of their own: the server drops items of an earlier measurement only when it needs their space.
  const prefix = `user-${process.pid}:`
  const before = Number((await server.stats()).bytes)
  const limiter = contestant ? (await loadContestant(contestant)).create(port, LARGE_QUOTA) : limiterOver(EVERY_RULE[rule], port)
  for (let i = 0; i < HITS_A_KEY; i++) {
    await Promise.all(Array.from({ length: KEYS }, (_, key) => limiter.hit(`${prefix}${key}`)))
  }
  const after = Number((await server.stats()).bytes)
  await limiter.close()
  await server.stop()
  return { bytes: (after - before) / KEYS }
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const rows = [...contestants.map(({ name }) => name), ...OTHER_RULES]
  return {
    title: 'Bytes a key',
    note: `Growth of the server's count of bytes for ${KEYS.toLocaleString('en')} keys such as user-12345:42, ${HITS_A_KEY} hits each. The last rows are other rules of ours.`,
    columns: ['contestant', 'bytes a key', 'times the bytes of sluice'],
    rows: rows.map((entrant) => [
      entrant,
      threeDigits(results.median([name, GROUP, entrant, 'bytes'])),
      times(results.medianRatio([name, GROUP, entrant, 'bytes'], [name, GROUP, 'sluice', 'bytes'])),
    ]),
  }
}
