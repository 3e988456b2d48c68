// Runs a bench: measures its tasks in rounds, and makes the report. One task is one table.

import { describeMachine } from '../report/machine.mjs'
import { contestantTable } from './contestants.mjs'
import { showProgress } from './progress.mjs'
import { runRounds } from './rounds.mjs'

/** @import { Bar } from '../report/bars.mjs' */
/** @import { Report } from '../report/report.mjs' */
/** @import { Table } from '../report/table.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Results } from './results.mjs' */
/** @import { Group } from './rounds.mjs' */

/** @typedef {{ command: string, rounds: number, quick: boolean, full: boolean, only: string | undefined }} Options */

/**
 * A table and its measurement. `file` is the URL of a module that exports `measure(params)`. `Plan` holds the parameters of
 * every task of the bench.
 * @template Plan
 * @typedef {object} BenchTask
 * @property {string} name
 * @property {string} file
 * @property {(plan: Plan) => Group[]} groups
 * @property {(plan: Plan, results: Results) => Table} table
 */

/**
 * @template {{ contestants: Contestant[] }} Plan
 * @typedef {object} Bench
 * @property {string} name name on the command line
 * @property {string} title
 * @property {Plan} plan
 * @property {readonly BenchTask<Plan>[]} tasks
 * @property {(plan: Plan, results: Results) => Bar[]} bars
 */

/**
 * @template {{ contestants: Contestant[] }} Plan
 * @param {Bench<Plan>} bench
 * @param {Options} options
 * @returns {Promise<Report>}
 */
export async function runBench({ name, title, plan, tasks, bars }, { command, rounds }) {
  const date = new Date()
  const machine = describeMachine()
  const { onStep, end } = showProgress()
  const results = await runRounds(
    tasks.map(({ name, file, groups }) => ({ name, file, groups: groups(plan) })),
    { rounds, onStep },
  )
  end()
  return {
    bench: name,
    title,
    command,
    date,
    machine,
    method: describeMethod(rounds),
    tables: [contestantTable(plan.contestants), ...tasks.map((task) => task.table(plan, results))],
    bars: bars(plan, results),
    failures: results.failures,
  }
}

/**
 * The tasks of a run: all of them, or the one that `--only` names.
 * @template {{ name: string }} Task
 * @param {readonly Task[]} tasks
 * @param {Pick<Options, 'only'>} options
 */
export function chosenTasks(tasks, { only }) {
  const chosen = tasks.filter(({ name }) => only === undefined || name === only)
  if (chosen.length === 0) throw new Error(`there is no task '${only}', only: ${tasks.map(({ name }) => name).join(', ')}`)
  return chosen
}

/** @param {number} rounds */
function describeMethod(rounds) {
  const numbers = rounds === 1 ? 'One round' : `Medians of ${rounds} interleaved rounds`
  return `${numbers}, each measurement in a process of its own. Ratios are taken within a round, or within a turn where contestants take turns, then their median.`
}
