// The traffic of the HTTP bench. Each server has a process of its own, and the requests come from another one. Servers take
// many short turns, so that a slow second of the machine falls on all of them.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { NO_REST } from '../rounds/measure-in-turns.mjs'

/** @import { ChildProcess } from 'node:child_process' */

/**
 * Requests that warm a server up, number of laps after that, and length of a turn. In a lap each server has one turn. Code is
 * compiled after a number of calls: a warm-up of some seconds would be too short wherever the machine is slow.
 * @typedef {{ warmUpRequests: number, laps: number, turnMs: number }} Timing
 */

/** @typedef {{ requestsPerSecond: number, serverMicros: number }} Turn */

/**
 * @param {string} framework
 * @param {string[]} servers neighbours in this list are neighbours in time
 * @param {Timing} timing
 * @returns {Promise<Map<string, Turn[]>>} each server's turns, one for each lap
 */
export async function takeTurns(framework, servers, { warmUpRequests, laps, turnMs }) {
  const load = start('load.mjs')
  const processes = servers.map((server) => start('server-process.mjs', framework, server))
  await hear(load)
  const ports = await Promise.all(processes.map(hear))
  const taken = new Map(servers.map((server) => [server, /** @type {Turn[]} */ ([])]))
  for (const port of ports) await ask(load, { port, amount: warmUpRequests })
  for (let lap = 0; lap < laps; lap++) {
    for (const [i, server] of backAndForth([...servers.entries()], lap)) {
      taken.get(server)?.push(await takeTurn(load, processes[i], { port: ports[i], duration: turnMs / 1000 }))
    }
  }
  for (const child of [load, ...processes]) child.disconnect()
  return taken
}

/**
 * A turn that the machine left without an answer says nothing, and is taken again.
 * @param {ChildProcess} load
 * @param {ChildProcess} server
 * @param {{ port: number, duration: number }} order
 * @returns {Promise<Turn>}
 */
async function takeTurn(load, server, order) {
  const before = await ask(server, 'usage')
  const { requests, seconds } = await ask(load, order)
  const micros = (await ask(server, 'usage')) - before
  if (requests === 0) return takeTurn(load, server, order)
  return { requestsPerSecond: requests / seconds, serverMicros: micros / requests }
}

/**
 * Every other lap goes backwards: whoever was before its neighbour is then after it.
 * @template T
 * @param {T[]} items
 * @param {number} lap
 */
function backAndForth(items, lap) {
  return lap % 2 === 0 ? items : items.reverse()
}

/**
 * @param {string} file
 * @param {...string} args
 */
function start(file, ...args) {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [NO_REST] })
}

/**
 * @param {ChildProcess} child
 * @param {any} message
 */
function ask(child, message) {
  child.send(message)
  return hear(child)
}

/**
 * Waits for the next message of a process. A process that ends instead has printed the reason.
 * @param {ChildProcess} child
 * @returns {Promise<any>}
 */
async function hear(child) {
  const ended = new AbortController()
  const onExit = () => ended.abort(new Error(`${child.spawnargs.slice(1).join(' ')} ended`))
  child.once('exit', onExit)
  try {
    const [message] = await once(child, 'message', { signal: ended.signal })
    return message
  } finally {
    child.off('exit', onExit)
  }
}
