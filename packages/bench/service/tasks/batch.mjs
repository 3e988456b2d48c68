// Several checks in one request: decisions a second by batch size, in memory and on Redis.

import { perSecond, times } from '../../report/numbers.mjs'
import { startServer } from '../servers.mjs'
import { ask } from '../traffic.mjs'
import { TURNS, turnsOf } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Kind } from '../servers.mjs' */
/** @import { Plan } from '../service.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'batches'
export const GROUP = 'memory'
export const file = import.meta.url

const SIZES = [1, 10, 100, 1000]

/** Enough connections that the server never waits. Batches need fewer. */
const SINGLE_CONNECTIONS = 32
const CONNECTIONS = 4

/** @type {Record<string, Kind>} */
const KINDS = { memory: 'service', Redis: 'service on Redis' }

/** @type {Kind} */
export const FLOOR = 'bare http'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return Object.entries(KINDS).map(([store, kind]) => ({
    name: store,
    turns: TURNS,
    entrants: [
      ...SIZES.map((checks) => ({ name: String(checks), params: { kind, checks, ...timing } })),
      { name: FLOOR, params: { kind: FLOOR, checks: 1, ...timing } },
    ],
  }))
}

/** @param {{ kind: Kind, checks: number } & Timing} params */
export async function start({ kind, checks, ...timing }) {
  const connections = checks === 1 ? SINGLE_CONNECTIONS : CONNECTIONS
  return turnsOf(await startServer(kind), timing, async (server, turn) => {
    const { decisionsPerSecond } = await ask({ ...server, connections, checks, ...turn })
    return { decisionsPerSecond }
  })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Decisions a second: `POST /v1/check/batch`, by checks a request',
    note: '1 is `POST /v1/check`. In brackets: how many times as many as requests of a bare node:http server.',
    columns: ['store', ...SIZES.map(String)],
    rows: Object.keys(KINDS).map((store) => [store, ...SIZES.map((checks) => cell(results, store, String(checks)))]),
  }
}

/**
 * @param {Results} results
 * @param {string} store
 * @param {string} checks
 */
function cell(results, store, checks) {
  const rate = results.median([name, store, checks, 'decisionsPerSecond'])
  const ratio = results.medianRatio([name, store, checks, 'decisionsPerSecond'], [name, store, FLOOR, 'decisionsPerSecond'])
  return `${perSecond(rate)} (${times(ratio)})`
}
