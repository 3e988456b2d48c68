// The simulate bench: reading, parsing and deciding the lines of a log, beside loops that only split the same file into lines. One
// file in tasks/ is one table.

import { loadContestantsOf } from '../rounds/contestants.mjs'
import { runBench } from '../rounds/run-bench.mjs'
import { simulateBars } from './bars.mjs'
import * as lines from './tasks/lines.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { LogContestant } from './traffic.mjs' */

/**
 * Parameters of every task.
 * @typedef {{ contestants: LogContestant[], timing: { lines: number, laps: number } }} Plan
 */

/** @param {Options} options */
export async function run(options) {
  /** @type {Plan} */
  const plan = {
    contestants: /** @type {LogContestant[]} */ (await loadContestantsOf(new URL('contestants/', import.meta.url))),
    timing: options.quick ? { lines: 300_000, laps: 3 } : { lines: 300_000, laps: 9 },
  }
  return runBench({ name: 'simulate', title: 'Simulate', plan, tasks: [lines], bars: simulateBars }, options)
}
