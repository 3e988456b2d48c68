// The service bench: `POST /v1/check` over real sockets beside a bare node:http server that parses the same JSON and sends
// the same bytes, batches, and the service on Redis. One file in tasks/ is one table.

import { describeMachine } from '../report/machine.mjs'
import { showProgress } from '../rounds/progress.mjs'
import { runRounds } from '../rounds/rounds.mjs'
import { serviceBars } from './bars.mjs'
import * as batch from './tasks/batch.mjs'
import * as single from './tasks/single.mjs'

/** @import { Options } from '../bench.mjs' */
/** @import { Report } from '../report/report.mjs' */

/**
 * Parameters of every task.
 * @typedef {{ warmUpMs: number, timedMs: number }} Plan
 */

const tasks = [single, batch]

/**
 * @param {Options} options
 * @returns {Promise<Report>}
 */
export async function run({ command, rounds, quick }) {
  /** @type {Plan} */
  const plan = quick ? { warmUpMs: 800, timedMs: 1000 } : { warmUpMs: 1500, timedMs: 3000 }
  const date = new Date()
  const machine = describeMachine()
  const { onStep, end } = showProgress()
  const results = await runRounds(
    tasks.map(({ name, file, groups }) => ({ name, file, groups: groups(plan) })),
    { rounds, onStep },
  )
  end()
  return {
    bench: 'service',
    title: 'Service',
    command,
    date,
    machine,
    method:
      `Medians of ${rounds} interleaved rounds. The server is a process of its own, and so is the one that asks, over ` +
      'connections that stay open. Ratios are taken within a round, then their median.',
    tables: tasks.map((task) => task.table(plan, results)),
    bars: serviceBars(results),
    failures: results.failures,
  }
}
