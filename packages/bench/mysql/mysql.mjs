// The MySQL bench: sluice's MySQL store beside that of rate-limiter-flexible, through pools of the same size, on a real MariaDB that
// it starts and stops. One file in tasks/ is one kind of table.

import { startMariadb } from '../../../test/servers/mariadb-server.mjs'
import { runBench } from '../rounds/run-bench.mjs'
import { mysqlBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as hitsUnderWay from './tasks/hits-under-way.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */
/** @import { Contestant } from './contestants.mjs' */

/**
 * The server of all contestants: options of its clients, and its process, whose CPU time is read.
 * @typedef {{ address: { host: string, port: number, user: string, database: string }, pid: number }} Place
 */

/** Parameters of every task. @typedef {{ contestants: Contestant[], timing: Timing, place: Place }} Plan */

/** @param {Options} options */
export async function run(options) {
  const contestants = await loadContestants()
  const timing = options.quick ? { warmUpMs: 400, leadInMs: 50, timedMs: 200 } : { warmUpMs: 2_000, leadInMs: 150, timedMs: 600 }
  await import('../../../scripts/install-programs.mjs')
  // No contestant waits for the disk.
  const server = await startMariadb('--innodb-flush-log-at-trx-commit=2')
  try {
    // The peer makes a database.
    const place = { address: { ...server.address, user: 'admin' }, pid: server.process?.pid ?? 0 }
    const plan = { contestants, timing, place }
    const tasks = [hitsUnderWay, bytesAKey]
    return await runBench({ name: 'mysql', title: 'MySQL', plan, tasks, bars: mysqlBars }, options)
  } finally {
    await server.stop()
  }
}
