// What a limiter takes from each framework: requests a second, and what one costs the server.

import { microseconds, perSecond, times } from '../../report/numbers.mjs'
import { loadFramework } from '../frameworks.mjs'
import { takeTurns } from '../traffic.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../http.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'overhead'
export const file = import.meta.url

/** All servers of a framework are measured together, turn by turn. */
const entrant = 'all servers, in turns'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ frameworks, timing }) {
  return frameworks.map((framework) => ({
    name: framework.name,
    entrants: [{ name: entrant, params: { framework: framework.name, ...timing } }],
  }))
}

/** @param {{ framework: string } & Timing} params */
export async function measure({ framework, ...timing }) {
  const { servers } = await loadFramework(framework)
  const turns = await takeTurns(
    framework,
    servers.map(({ name }) => name),
    timing,
  )
  /** @type {Record<string, number>} */
  const numbers = {}
  for (const [server, taken] of turns) {
    numbers[field(server, 'requestsPerSecond')] = -quiet(taken.map(({ requestsPerSecond }) => -requestsPerSecond))
    numbers[field(server, 'serverMicros')] = quiet(taken.map(({ serverMicros }) => serverMicros))
  }
  return numbers
}

/**
 * What a turn takes while nobody else uses the machine: the lower quartile. Others can make a turn dearer, never cheaper.
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

/**
 * How many requests the same CPU time serves, compared with another server of the framework.
 * @param {Results} results
 * @param {string} framework
 * @param {string} server
 * @param {string} other
 */
export function ratio(results, framework, server, other) {
  const reading = (/** @type {string} */ of) => /** @type {const} */ ([name, framework, entrant, field(of, 'serverMicros')])
  return results.medianRatio(reading(other), reading(server))
}

/**
 * @param {Plan} plan
 * @param {Results} results
 * @returns {Table}
 */
export function table({ frameworks, timing }, results) {
  return {
    title: 'Requests a second, and what one costs the server',
    note:
      `Servers of a framework take ${timing.turns} turns of ${timing.turnMs} ms, with 32 connections and one request under way on each. ` +
      "CPU is that of the server's process alone. Of bare: how many requests the same CPU time serves, compared with no limiter.",
    columns: ['framework', 'limiter', 'requests a second', 'CPU a request', 'of bare'],
    rows: frameworks.flatMap((framework) => framework.servers.map((server) => row(results, framework.name, server.name))),
  }
}

/**
 * @param {Results} results
 * @param {string} framework
 * @param {string} server
 */
function row(results, framework, server) {
  const read = (/** @type {string} */ what) => results.median([name, framework, entrant, field(server, what)])
  return [
    framework,
    server,
    perSecond(read('requestsPerSecond')),
    microseconds(read('serverMicros')),
    times(ratio(results, framework, server, 'bare')),
  ]
}
