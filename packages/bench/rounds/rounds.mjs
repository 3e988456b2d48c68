// Interleaved rounds: each round measures every entrant once, or in turns, so that a slow minute of the machine affects all of them. The
// first entrant rotates. Entrants that are compared with each other run directly after each other.

import { measureInChild } from './measure-in-child.mjs'
import { measureInTurns } from './measure-in-turns.mjs'
import { Results } from './results.mjs'

/** @import { Measurement } from './measure-in-child.mjs' */

/**
 * A measured variant, and the parameters of its process.
 * @typedef {{ name: string, params: object }} Entrant
 */

/**
 * Entrants that are compared with each other. With `turns`, they take so many turns in each round. `prepare` runs before the processes
 * of the entrants start, in each round.
 * @typedef {{ name: string, entrants: Entrant[], nodeFlags?: string[], turns?: number, prepare?: () => Promise<unknown> }} Group
 */

/**
 * The measurements of one table. `file` is the URL of a module that exports `measure(params)`, or `start(params)` for turns.
 * @typedef {{ name: string, file: string, groups: Group[] }} Task
 */

/**
 * The next measurement, when `done` of `total` measurements are finished.
 * @typedef {object} Step
 * @property {number} done
 * @property {number} total
 * @property {number} round
 * @property {number} rounds
 * @property {string} task
 * @property {string} group
 * @property {string} entrant
 */

/**
 * @param {readonly Task[]} tasks
 * @param {{ rounds: number, onStep: (step: Step) => void }} options
 */
export async function runRounds(tasks, { rounds, onStep }) {
  const results = new Results()
  const groups = tasks.flatMap((task) => task.groups.map((group) => ({ task, group })))
  const total = rounds * groups.reduce((sum, { group }) => sum + group.entrants.length, 0)
  let done = 0
  for (let round = 1; round <= rounds; round++) {
    for (const { task, group } of groups) {
      for (const entrants of stepsOf(group, round - 1)) {
        const entrant = entrants.map(({ name }) => name).join(', ')
        onStep({ done, total, round, rounds, task: task.name, group: group.name, entrant })
        await group.prepare?.()
        for (const measurements of await measureTogether(task, group, entrants))
          for (const [i, { name }] of entrants.entries()) results.add(task.name, group.name, name, measurements[i])
        done += entrants.length
      }
    }
  }
  return results
}

/**
 * Returns the entrants of a group in the order of a round, in lists of those that are measured together.
 * @param {Group} group
 * @param {number} rotation number of entrants that move from the front to the end
 */
function stepsOf({ entrants, turns }, rotation) {
  const order = rotated(entrants, rotation)
  return turns === undefined ? order.map((entrant) => [entrant]) : [order]
}

/**
 * @param {Task} task
 * @param {Group} group
 * @param {readonly Entrant[]} entrants
 * @returns {Promise<Measurement[][]>} for each turn, the measurement of each entrant
 */
async function measureTogether({ file }, { nodeFlags = [], turns }, entrants) {
  const params = entrants.map((entrant) => entrant.params)
  return turns === undefined ? [[await measureInChild(file, params[0], nodeFlags)]] : measureInTurns(file, params, turns)
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {number} by
 */
function rotated(items, by) {
  const start = by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
