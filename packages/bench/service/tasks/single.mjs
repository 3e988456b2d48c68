// One check per request: the service beside the bare server, in memory and on Redis.

import { perSecond, times } from '../../report/numbers.mjs'
import { CONTESTANTS, startServer } from '../servers.mjs'
import { ask } from '../traffic.mjs'
import { TURNS, turnsOf } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Kind } from '../servers.mjs' */
/** @import { Plan } from '../service.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'single checks'
const CONNECTIONS = 32
export const GROUP = `${CONNECTIONS} connections`
export const file = import.meta.url

const KINDS = CONTESTANTS.map(({ name }) => name)

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return [{ name: GROUP, turns: TURNS, entrants: KINDS.map((kind) => ({ name: kind, params: { kind, ...timing } })) }]
}

/** @param {{ kind: Kind } & Timing} params */
export async function start({ kind, ...timing }) {
  return turnsOf(await startServer(kind), timing, async (server, turn) => {
    const { answer, ...numbers } = await ask({ ...server, connections: CONNECTIONS, checks: 1, ...turn })
    return { ...numbers, answerBytes: answer.length }
  })
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Checks a second: `POST /v1/check`, one check a request',
    note: 'The bare server parses the same JSON and answers the same bytes; it decides nothing and asks for no key. The service has a key and 101 policies. Requests come from a process of their own, over connections that stay open. CPU time is that of the server.',
    columns: ['server', 'checks', 'of the bare server', 'CPU time a check', 'bytes of an answer'],
    rows: KINDS.map((kind) => {
      const ratio = results.medianRatio(
        [name, GROUP, kind, 'decisionsPerSecond'],
        [name, GROUP, 'bare http', 'decisionsPerSecond'],
      )
      const bytes = results.median([name, GROUP, kind, 'answerBytes'])
      const micros = results.median([name, GROUP, kind, 'cpuMicrosADecision'])
      const rate = perSecond(results.median([name, GROUP, kind, 'decisionsPerSecond']))
      return [kind, rate, times(ratio), `${micros.toFixed(1)} µs`, String(bytes)]
    }),
  }
}
