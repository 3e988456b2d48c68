// The memory bench: sluice's memory store beside the peers' and a bare Map. One file in tasks/ is one table.

import { chosenTasks, runBench } from '../rounds/run-bench.mjs'
import { memoryBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as everyRule from './tasks/every-rule.mjs'
import * as flood from './tasks/flood.mjs'
import * as hitRate from './tasks/hit-rate.mjs'
import * as holds from './tasks/holds.mjs'
import * as meters from './tasks/meters.mjs'
import * as severalRules from './tasks/several-rules.mjs'
import * as worstHit from './tasks/worst-hit.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * Options of every task.
 * @typedef {{ contestants: Contestant[], timing: Timing, full: boolean }} Plan
 */

const TASKS = [hitRate, bytesAKey, worstHit, flood, meters, everyRule, severalRules, holds]

/** @param {Options} options */
export async function run(options) {
  const { quick, full } = options
  const tasks = chosenTasks(TASKS, options)
  /** @type {Plan} */
  const plan = {
    contestants: await loadContestants(),
    timing: quick ? { warmUpMs: 150, timedMs: 250 } : { warmUpMs: 250, timedMs: 800 },
    full,
  }
  return runBench({ name: 'memory', title: 'Memory', plan, tasks, bars: memoryBars }, options)
}
