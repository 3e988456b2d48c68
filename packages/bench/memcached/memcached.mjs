// The memcached bench: sluice's memcached store beside rate-limiter-flexible's and bare incr, on a real server that it starts and
// stops. One file in tasks/ is one kind of table.

import { startMemcached } from '../../../test/servers/memcached-server.mjs'
import { runBench } from '../rounds/run-bench.mjs'
import { memcachedBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as hitsUnderWay from './tasks/hits-under-way.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */

/**
 * Parameters of every task. `port` is the server's, on loopback.
 * @typedef {{ contestants: Contestant[], timing: Timing, port: number }} Plan
 */

/** @param {Options} options */
export async function run(options) {
  const contestants = await loadContestants()
  const timing = options.quick ? { warmUpMs: 200, leadInMs: 50, timedMs: 100 } : { warmUpMs: 1_600, leadInMs: 100, timedMs: 350 }
  await import('../../../scripts/install-programs.mjs')
  const server = await startMemcached()
  try {
    /** @type {Plan} */
    const plan = { contestants, timing, port: server.port }
    const tasks = [hitsUnderWay, bytesAKey]
    return await runBench({ name: 'memcached', title: 'Memcached', plan, tasks, bars: memcachedBars }, options)
  } finally {
    await server.stop()
  }
}
