// The HTTP bench: the cost of a limiter in a server. Each framework runs bare, with the same fields written by hand, behind sluice
// and behind the limiter that its users know, under the same traffic from another process. One file in frameworks/ is one framework.

import { runBench } from '../rounds/run-bench.mjs'
import { httpBars } from './bars.mjs'
import { loadFrameworks } from './frameworks.mjs'
import * as overhead from './tasks/overhead.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Contestant } from '../rounds/contestants.mjs' */
/** @import { Framework } from './frameworks.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * Options of every task.
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
    // Two processes with the same code differ by up to a tenth, and laps do not show that. So there are many rounds of few laps.
    timing: options.quick ? { warmUpRequests: 3_000, laps: 5, turnMs: 200 } : { warmUpRequests: 12_000, laps: 8, turnMs: 200 },
  }
  return runBench({ name: 'http', title: 'HTTP', plan, tasks: [overhead], bars: httpBars }, options)
}
