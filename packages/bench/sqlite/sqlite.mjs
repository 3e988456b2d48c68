// The SQLite bench: sluice's SQLite store beside that of a peer and a bare statement, through the same driver, on files that it makes
// and removes. One file in tasks/ is one table.

import { runBench } from '../rounds/run-bench.mjs'
import { sqliteBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as hitRate from './tasks/hit-rate.mjs'
import * as severalRules from './tasks/several-rules.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * Parameters of every task.
 * @typedef {{ contestants: Contestant[], timing: Timing }} Plan
 */

const TASKS = [hitRate, severalRules, bytesAKey]

/** @param {Options} options */
export async function run(options) {
  /** @type {Plan} */
  const plan = {
    contestants: await loadContestants(),
    timing: options.quick ? { warmUpLaps: 4, laps: 5 } : { warmUpLaps: 10, laps: 25 },
  }
  return runBench({ name: 'sqlite', title: 'SQLite', plan, tasks: TASKS, bars: sqliteBars }, options)
}
