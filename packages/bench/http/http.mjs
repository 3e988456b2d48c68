// The HTTP bench: what a limiter takes from a server. Each framework bare, behind sluice and behind the limiter that its users
// know, under the same traffic from another process. One file in frameworks/ is one framework.

import { runBench } from '../rounds/run-bench.mjs'
import { httpBars } from './bars.mjs'
import { loadFrameworks } from './frameworks.mjs'
import * as overhead from './tasks/overhead.mjs'

/** @import { Options } from '../bench.mjs' */
/** @import { Contestant } from '../rounds/contestants.mjs' */
/** @import { Framework } from './frameworks.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * What every task is told.
 * @typedef {{ contestants: Contestant[], frameworks: Framework[], timing: Timing }} Plan
 */

/** @param {Options} options */
export async function run(options) {
  const frameworks = await loadFrameworks()
  /** @type {Plan} */
  const plan = {
    contestants: frameworks.flatMap(({ name, servers }) =>
      servers.map((server) => ({ ...server, name: `${name}: ${server.name}` })),
    ),
    frameworks,
    timing: options.quick ? { warmUpMs: 1000, turns: 4, turnMs: 200 } : { warmUpMs: 2500, turns: 16, turnMs: 250 },
  }
  return runBench({ name: 'http', title: 'HTTP', plan, tasks: [overhead], bars: httpBars }, options)
}
