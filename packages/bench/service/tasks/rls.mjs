// One descriptor per call through the RLS door, beside an empty gRPC service of the same library.

import { perSecond, times } from '../../report/numbers.mjs'
import { askByGrpc } from '../grpc-traffic.mjs'
import { startServer } from '../servers.mjs'
import { TURNS, turnsOf } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Kind } from '../servers.mjs' */
/** @import { Plan } from '../service.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'RLS'
const UNDER_WAY = 32
export const GROUP = `${UNDER_WAY} under way`
export const file = import.meta.url

/** @type {readonly Kind[]} */
const KINDS = ['empty gRPC', 'service']

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return [{ name: GROUP, turns: TURNS, entrants: KINDS.map((kind) => ({ name: kind, params: { kind, ...timing } })) }]
}

/** @param {{ kind: Kind } & Timing} params */
export async function start({ kind, ...timing }) {
  return turnsOf(await startServer(kind), timing, (server, turn) => askByGrpc({ ...server, underWay: UNDER_WAY, ...turn }))
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: 'Checks a second: Envoy RLS, one descriptor of two entries a call',
    note: 'The empty service reads the same request and writes the same answer with the same library; it decides nothing and asks for no key. Calls come from a process of their own, over one connection. CPU time is that of the server.',
    columns: ['server', 'checks', 'of the empty service', 'CPU time a check', 'bytes of an answer'],
    rows: KINDS.map((kind) => {
      const ratio = results.medianRatio(
        [name, GROUP, kind, 'decisionsPerSecond'],
        [name, GROUP, 'empty gRPC', 'decisionsPerSecond'],
      )
      const micros = results.median([name, GROUP, kind, 'cpuMicrosADecision'])
      const rate = perSecond(results.median([name, GROUP, kind, 'decisionsPerSecond']))
      return [kind, rate, times(ratio), `${micros.toFixed(1)} µs`, String(results.median([name, GROUP, kind, 'answerBytes']))]
    }),
  }
}
