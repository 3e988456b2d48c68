// The service bench: `POST /v1/check` over real sockets beside a bare node:http server that parses the same JSON and sends
// the same bytes, batches, the service on Redis, and its other doors. One file in tasks/ is one table.

import { chosenTasks, runBench } from '../rounds/run-bench.mjs'
import { serviceBars } from './bars.mjs'
import { CONTESTANTS } from './servers.mjs'
import * as batch from './tasks/batch.mjs'
import * as layers from './tasks/layers.mjs'
import * as resp from './tasks/resp.mjs'
import * as rls from './tasks/rls.mjs'
import * as single from './tasks/single.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Contestant } from '../rounds/contestants.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * Parameters of every task.
 * @typedef {{ contestants: Contestant[], timing: Timing }} Plan
 */

const TASKS = [single, batch, layers, resp, rls]

/** @param {Options} options */
export async function run(options) {
  const tasks = chosenTasks(TASKS, options)
  /** @type {Plan} */
  const plan = {
    contestants: CONTESTANTS,
    timing: options.quick ? { warmUpMs: 800, timedMs: 1000 } : { warmUpMs: 1500, timedMs: 3000 },
  }
  return runBench({ name: 'service', title: 'Service', plan, tasks, bars: serviceBars }, options)
}
