// Bytes in Redis for each key that was hit: MEMORY USAGE of all Redis keys, names included.

import { LARGE_QUOTA } from '../../quota.mjs'
import { threeDigits, times } from '../../report/numbers.mjs'
import { EVERY_RULE } from '../../rules.mjs'
import { connect } from '../connections.mjs'
import { limiterOver } from '../contestants/sluice.mjs'
import { loadContestant } from '../contestants.mjs'
import { empty } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Connection, Place } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */

export const name = 'bytes a key'
export const file = import.meta.url

const KEYS = 1_000
const HITS_A_KEY = 10
export const GROUP = `${HITS_A_KEY} hits`

/** A counter under each of the names that sluice uses: the floor that has names of the same length. */
export const COUNTER = 'a counter under our names'

/** Rules of ours that keep other state than a fixed window. gcra and leakyBucket keep the same state as tokenBucket. */
const OTHER_RULES = ['slidingWindow', 'tokenBucket', 'slidingLog, 10 in 1 s']

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ contestants, server }) {
  const ofContestants = contestants.map(({ name }) => ({ name, params: { contestant: name, place: server } }))
  const ofRules = OTHER_RULES.map((rule) => ({ name: rule, params: { rule, place: server } }))
  const counter = { name: COUNTER, params: { contestant: 'sluice', isCounter: true, place: server } }
  return [{ name: GROUP, entrants: [...ofContestants, counter, ...ofRules] }]
}

/** @param {{ contestant?: string, rule?: string, isCounter?: boolean, place: Place }} params */
export async function measure({ contestant, rule = '', isCounter = false, place }) {
  await empty(place)
  const connection = await connect('ioredis', place)
  const limiter = contestant
    ? await (await loadContestant(contestant)).create(connection, LARGE_QUOTA)
    : limiterOver(EVERY_RULE[rule], connection)
  for (let i = 0; i < HITS_A_KEY; i++) {
    await Promise.all(Array.from({ length: KEYS }, (_, key) => limiter.hit(`user:${key}`)))
  }
  if (isCounter) await replaceByCounters(connection, place)
  const bytes = await usedBytes(connection)
  connection.close()
  return { bytes: bytes / KEYS }
}

/**
 * Replaces every state by a counter of the same name, which has counted the same hits.
 * @param {Connection} connection
 * @param {Place} place
 */
async function replaceByCounters(connection, place) {
  const names = (await namesIn(connection)).filter((name) => name.includes('{user:'))
  await empty(place)
  await Promise.all(names.map((name) => connection.send(name, ['INCRBY', name, String(HITS_A_KEY)])))
}

/**
 * @param {Connection} connection
 * @returns {Promise<string[]>}
 */
function namesIn({ send }) {
  return send(undefined, ['KEYS', '*'])
}

/** @param {Connection} connection */
async function usedBytes(connection) {
  const { send } = connection
  const names = await namesIn(connection)
  const bytes = await Promise.all(names.map((name) => send(undefined, ['MEMORY', 'USAGE', name, 'SAMPLES', '0'])))
  return bytes.reduce((sum, one) => sum + one, 0)
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ contestants }, results) {
  const rows = [...contestants.map(({ name }) => name), COUNTER, ...OTHER_RULES]
  return {
    title: 'Bytes a key',
    note: `MEMORY USAGE for ${KEYS.toLocaleString('en')} keys such as user:42, ${HITS_A_KEY} hits each. The last rows are other rules of ours.`,
    columns: ['contestant', 'bytes a key', 'times the bytes of sluice'],
    rows: rows.map((entrant) => [
      entrant,
      threeDigits(results.median([name, GROUP, entrant, 'bytes'])),
      times(results.medianRatio([name, GROUP, entrant, 'bytes'], [name, GROUP, 'sluice', 'bytes'])),
    ]),
  }
}
