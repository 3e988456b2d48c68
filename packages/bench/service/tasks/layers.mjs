// Checks with attributes and layers: three policies decide each check, of 10 and of 10,000 that there are.

import { perSecond, times } from '../../report/numbers.mjs'
import { startServer } from '../servers.mjs'
import { ask } from '../traffic.mjs'
import { TURNS, turnsOf } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../service.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'layers'
export const GROUP = 'memory'
export const file = import.meta.url

const CONNECTIONS = 32

/** Number of policies for organisations. Only the first ten of them are asked for. */
const COUNTS = [10, 10_000]
const ORGS = 10

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return [
    { name: GROUP, turns: TURNS, entrants: COUNTS.map((layers) => ({ name: String(layers), params: { layers, ...timing } })) },
  ]
}

/** @param {{ layers: number } & Timing} params */
export async function start({ layers, ...timing }) {
  return turnsOf(await startServer('service', layers), timing, async (server, turn) => {
    const { answer: _, ...numbers } = await ask({ ...server, connections: CONNECTIONS, checks: 1, orgs: ORGS, ...turn })
    return numbers
  })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  const [few] = COUNTS
  return {
    title: 'Checks a second with attributes and layers, by the number of policies',
    note: 'Each check is one decision over three policies: one for everybody, one for its organisation and the most specific one. In brackets: CPU time beside that with the fewest policies.',
    columns: ['policies of organisations', 'checks', 'CPU time a check'],
    rows: COUNTS.map((count) => {
      const micros = results.median([name, GROUP, String(count), 'cpuMicrosADecision'])
      const ratio = results.medianRatio(
        [name, GROUP, String(count), 'cpuMicrosADecision'],
        [name, GROUP, String(few), 'cpuMicrosADecision'],
      )
      const rate = perSecond(results.median([name, GROUP, String(count), 'decisionsPerSecond']))
      return [String(count), rate, `${micros.toFixed(1)} µs (${times(ratio)})`]
    }),
  }
}
