// Interleaved rounds: each round measures every entrant once, so that a slow minute of the machine affects all of them. The
// first entrant rotates. Entrants that are compared with each other run directly after each other.

import { measureInChild } from './measure-in-child.mjs'
import { Results } from './results.mjs'

/**
 * A measured variant, and the parameters of its process.
 * @typedef {{ name: string, params: object }} Entrant
 */

/**
 * Entrants that are compared with each other.
 * @typedef {{ name: string, entrants: Entrant[], nodeFlags?: string[] }} Group
 */

/**
 * The measurements of one table. `file` is the URL of a module that exports `measure(params)`.
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
  const total = rounds * schedule(tasks, 0).length
  let done = 0
  for (let round = 1; round <= rounds; round++) {
    for (const { task, group, entrant } of schedule(tasks, round - 1)) {
      onStep({ done, total, round, rounds, task: task.name, group: group.name, entrant: entrant.name })
      const measurement = await measureInChild(task.file, entrant.params, group.nodeFlags ?? [])
      results.add(task.name, group.name, entrant.name, measurement)
      done += 1
    }
  }
  return results
}

/**
 * The order of one round.
 * @param {readonly Task[]} tasks
 * @param {number} rotation number of entrants of each group that move from its front to its end
 */
function schedule(tasks, rotation) {
  return tasks.flatMap((task) =>
    task.groups.flatMap((group) => rotated(group.entrants, rotation).map((entrant) => ({ task, group, entrant }))),
  )
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
