// The Postgres bench: sluice's Postgres store beside that of rate-limiter-flexible, through pools of the same size, on a real server
// that it starts and stops. One file in tasks/ is one kind of table.

import { startPostgres } from '../../../test/servers/postgres-server.mjs'
import { runBench } from '../rounds/run-bench.mjs'
import { postgresBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as hitsUnderWay from './tasks/hits-under-way.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */
/** @import { Contestant } from './contestants.mjs' */

/** Parameters of every task. @typedef {{ contestants: Contestant[], timing: Timing, url: string }} Plan */

/**
 * A server as it is installed, but for its commits: no contestant waits for the disk. A store of ours asks for that by itself, and
 * the peer by the server's setting.
 */
const SETTINGS = { fsync: 'on', autovacuum: 'on', synchronous_commit: 'off' }

/** @param {Options} options */
export async function run(options) {
  const contestants = await loadContestants()
  const timing = options.quick
    ? { warmUpMs: 300, leadInMs: 50, timedMs: 150 }
    : { warmUpMs: 2_000, leadInMs: 1_500, timedMs: 600 }
  await import('../../../scripts/install-programs.mjs')
  const server = await startPostgres(SETTINGS)
  try {
    const plan = { contestants, timing, url: server.url }
    const tasks = [hitsUnderWay, bytesAKey]
    return await runBench({ name: 'postgres', title: 'Postgres', plan, tasks, bars: postgresBars }, options)
  } finally {
    await server.stop()
  }
}
