// Entrants that take turns: each has its own process, and one works while the others wait. The speed of the machine jumps within seconds,
// and neighbours in time see the same machine.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Measurement } from './measure-in-child.mjs' */

/**
 * An entrant that is ready for its first turn. A task's `start(params)` resolves to it.
 * @typedef {object} TurnTaker
 * @property {() => Promise<Record<string, number>>} takeTurn
 * @property {() => unknown} close may return a promise
 */

const PROCESS = fileURLToPath(new URL('turn-taker.mjs', import.meta.url))

/**
 * A flag of Node. Without it, V8's memory reducer would discard compiled code of a process that waits for its turn. The code that is
 * compiled later may be a third slower. Under steady traffic a server is never idle.
 */
export const NO_REST = '--no-memory-reducer'

/** Far above the slowest warm-up or turn. It ends a stuck one. */
const TIMEOUT_MS = 60_000

/** Time in which a process stops what it has started. */
const END_MS = 10_000

/**
 * @param {string} taskFile URL of a module that exports `start(params)`
 * @param {readonly object[]} params of each entrant
 * @param {number} turns
 * @returns {Promise<Measurement[][]>} for each turn, the measurement of each entrant
 */
export async function measureInTurns(taskFile, params, turns) {
  const children = params.map((each) => fork(PROCESS, [taskFile, JSON.stringify(each)], { execArgv: [NO_REST] }))
  try {
    await Promise.all(children.map(answerOf))
    const measurements = []
    for (let turn = 0; turn < turns; turn++) measurements.push(await takeTurn(children, turn))
    return measurements
  } finally {
    await Promise.all(children.map(end))
  }
}

/**
 * Lets a process stop what it has started. A process that waits for its turn hears of the end of its parent in the same way.
 * @param {ChildProcess} child
 */
async function end(child) {
  if (!child.connected) return
  const ended = once(child, 'exit')
  const kill = setTimeout(() => child.kill('SIGKILL'), END_MS)
  child.disconnect()
  await ended
  clearTimeout(kill)
}

/**
 * The first entrant rotates, so that none is always first.
 * @param {readonly ChildProcess[]} children
 * @param {number} turn
 */
async function takeTurn(children, turn) {
  /** @type {Measurement[]} */
  const measurements = new Array(children.length)
  for (let i = 0; i < children.length; i++) {
    const at = (i + turn) % children.length
    const answered = answerOf(children[at])
    children[at].send('turn')
    measurements[at] = { numbers: await answered }
  }
  return measurements
}

/** @param {ChildProcess} child */
async function answerOf(child) {
  const waiting = new AbortController()
  const { signal } = waiting
  const late = setTimeout(() => waiting.abort(), TIMEOUT_MS)
  try {
    const [answer] = await Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })])
    if (typeof answer === 'object' && answer !== null) return answer
  } catch {
    // The time is over.
  } finally {
    clearTimeout(late)
    // Removes the listener of the other event.
    waiting.abort()
  }
  throw new Error(`measuring ${child.spawnargs.at(-1)} failed, or took longer than ${TIMEOUT_MS} ms`)
}
