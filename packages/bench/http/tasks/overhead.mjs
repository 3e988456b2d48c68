// The cost of a limiter in each framework: requests a second, and CPU time of the server for one.

import { microseconds, perSecond, times } from '../../report/numbers.mjs'
import { median } from '../../rounds/results.mjs'
import { inTurnOrder, loadFramework } from '../frameworks.mjs'
import { takeTurns } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../http.mjs' */
/** @import { Timing, Turn } from '../traffic.mjs' */

export const name = 'overhead'
export const file = import.meta.url

/** All servers of a framework are measured together, turn by turn. */
export const ENTRANT = 'all servers, in turns'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ frameworks, timing }) {
  return frameworks.map((framework) => ({
    name: framework.name,
    entrants: [{ name: ENTRANT, params: { framework: framework.name, ...timing } }],
  }))
}

/** @param {{ framework: string } & Timing} params */
export async function measure({ framework, ...timing }) {
  const { servers } = await loadFramework(framework)
  const names = inTurnOrder(servers).map(({ name }) => name)
  return summarize(await takeTurns(framework, names, timing))
}

/**
 * The numbers of a round. Ratios are taken within a lap.
 * @param {Map<string, Turn[]>} turns
 */
export function summarize(turns) {
  /** @type {Record<string, number>} */
  const numbers = {}
  for (const [server, taken] of turns) {
    numbers[field(server, 'requestsPerSecond')] = -quiet(taken.map(({ requestsPerSecond }) => -requestsPerSecond))
    numbers[field(server, 'serverMicros')] = quiet(taken.map(({ serverMicros }) => serverMicros))
    for (const [other, theirs] of turns) {
      numbers[field(server, shareOf(other))] = median(
        taken.map(({ serverMicros }, lap) => theirs[lap].serverMicros / serverMicros),
      )
    }
  }
  return numbers
}

/**
 * The lower quartile: a turn while nobody else uses the machine. Others can make a turn dearer, never cheaper.
 * @param {number[]} numbers
 */
function quiet(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 4)]
}

/**
 * @param {string} server
 * @param {string} what
 */
function field(server, what) {
  return `${server}: ${what}`
}

/** @param {string} other */
function shareOf(other) {
  return `requests for each of ${other}`
}

/**
 * Requests for the same CPU time, compared with another server of the framework. The ratio is taken within a lap, where the two
 * servers' turns are neighbours; then its median over the laps of a round, and over the rounds.
 * @param {Results} results
 * @param {string} framework
 * @param {string} server
 * @param {string} other
 */
export function ratio(results, framework, server, other) {
  return results.median([name, framework, ENTRANT, field(server, shareOf(other))])
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ frameworks, timing }, results) {
  return {
    title: 'Requests a second, and CPU time of the server for one',
    note:
      `Servers of a framework take turns of ${timing.turnMs} ms in ${timing.laps} laps, every other lap backwards, with 32 connections and one ` +
      "request under way on each. CPU is that of the server's process alone. The last two columns compare requests for the same CPU " +
      'time, lap by lap: with the same two fields written by hand, and with neither limiter nor fields.',
    columns: ['framework', 'limiter', 'requests a second', 'CPU a request', 'of fields by hand', 'of bare'],
    rows: frameworks.flatMap((framework) => framework.servers.map((server) => row(results, framework.name, server.name))),
  }
}

/**
 * @param {Results} results
 * @param {string} framework
 * @param {string} server
 */
function row(results, framework, server) {
  const read = (/** @type {string} */ what) => results.median([name, framework, ENTRANT, field(server, what)])
  return [
    framework,
    server,
    perSecond(read('requestsPerSecond')),
    microseconds(read('serverMicros')),
    times(ratio(results, framework, server, 'fields by hand')),
    times(ratio(results, framework, server, 'bare')),
  ]
}
