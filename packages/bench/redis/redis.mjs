// The Redis bench: sluice's Redis store beside those of the peers and bare INCR, through the same client, on real servers that
// it starts and stops. One file in tasks/ is one kind of table.

import { startCluster, startRedis } from '../../../test/servers/redis-server.mjs'
import { chosenTasks, runBench } from '../rounds/run-bench.mjs'
import { redisBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as everyRule from './tasks/every-rule.mjs'
import { hitsUnderWay } from './tasks/hits-under-way.mjs'
import * as holds from './tasks/holds.mjs'
import * as severalRules from './tasks/several-rules.mjs'

/** @import { Options } from '../rounds/run-bench.mjs' */
/** @import { Place } from './connections.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */

/**
 * Parameters of every task. Entrants take so many turns in each round.
 * @typedef {{ contestants: Contestant[], timing: Timing & { turns: number }, server: Place, cluster: Place }} Plan
 */

const TASKS = [
  hitsUnderWay('ioredis', 'server'),
  hitsUnderWay('node-redis', 'server'),
  everyRule,
  severalRules,
  holds,
  bytesAKey,
  hitsUnderWay('ioredis', 'cluster'),
  hitsUnderWay('node-redis', 'cluster'),
]

/** @param {Options} options */
export async function run(options) {
  const tasks = chosenTasks(TASKS, options)
  const contestants = await loadContestants()
  const timing = { leadInMs: 15, timedMs: 60, ...(options.quick ? { warmUpMs: 1000, turns: 3 } : { warmUpMs: 4_000, turns: 12 }) }
  await import('../../../scripts/install-programs.mjs')
  const redis = await startRedis()
  const { primaries, stop } = await startCluster()
  try {
    /** @type {Plan} */
    const plan = {
      contestants,
      timing,
      server: { isCluster: false, ports: [redis.port] },
      cluster: { isCluster: true, ports: primaries.map(({ port }) => port) },
    }
    return await runBench({ name: 'redis', title: 'Redis', plan, tasks, bars: redisBars }, options)
  } finally {
    await redis.stop()
    await stop()
  }
}
