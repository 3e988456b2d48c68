// The Durable Object bench: sluice's store beside a bare counter, in a real workerd that it starts and stops.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startWorker } from '../../../test/servers/workerd-server.mjs'
import { runBench } from '../rounds/run-bench.mjs'
import { durableObjectBars } from './bars.mjs'
import { loadContestants } from './contestants.mjs'
import * as hitsUnderWay from './tasks/hits-under-way.mjs'

/** @import { Contestant } from '../rounds/contestants.mjs' */
/** @import { Timing } from '../rounds/hits.mjs' */
/** @import { Options } from '../rounds/run-bench.mjs' */

/** Address of the Worker, and the process of workerd, whose CPU time is read. @typedef {{ url: string, pid: number }} Place */

/** Parameters of every task. @typedef {{ contestants: Contestant[], timing: Timing, place: Place }} Plan */

/** @param {Options} options */
export async function run(options) {
  const contestants = await loadContestants()
  const timing = options.quick ? { warmUpMs: 400, leadInMs: 50, timedMs: 200 } : { warmUpMs: 2_000, leadInMs: 150, timedMs: 600 }
  const worker = await startWorker({
    code: readFileSync(new URL('worker.mjs', import.meta.url), 'utf8'),
    folder: fileURLToPath(new URL('.', import.meta.url)),
    objects: { SLUICE: 'SluiceObject', BARE: 'BareCounter' },
  })
  try {
    const plan = { contestants, timing, place: { url: worker.url, pid: worker.process.pid ?? 0 } }
    return await runBench(
      { name: 'durable-object', title: 'Durable Object', plan, tasks: [hitsUnderWay], bars: durableObjectBars },
      options,
    )
  } finally {
    await worker.stop()
  }
}
