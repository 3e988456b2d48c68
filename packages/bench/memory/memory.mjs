// The memory bench: sluice's memory store beside the peers' and a bare Map. One file in tasks/ is one table.

import { describeMachine } from '../report/machine.mjs'
import { showProgress } from '../rounds/progress.mjs'
import { runRounds } from '../rounds/rounds.mjs'
import { memoryBars } from './bars.mjs'
import { contestantTable, loadContestants } from './contestants.mjs'
import * as bytesAKey from './tasks/bytes-a-key.mjs'
import * as everyRule from './tasks/every-rule.mjs'
import * as hitRate from './tasks/hit-rate.mjs'
import * as severalRules from './tasks/several-rules.mjs'
import * as worstHit from './tasks/worst-hit.mjs'

/** @import { Options } from '../bench.mjs' */
/** @import { Report } from '../report/report.mjs' */
/** @import { Contestant } from './contestants.mjs' */
/** @import { Timing } from './traffic.mjs' */

/**
 * What every task is told.
 * @typedef {{ contestants: Contestant[], timing: Timing, full: boolean }} Plan
 */

const tasks = [hitRate, bytesAKey, worstHit, everyRule, severalRules]

/**
 * @param {Options} options
 * @returns {Promise<Report>}
 */
export async function run({ command, rounds, quick, full }) {
  /** @type {Plan} */
  const plan = {
    contestants: await loadContestants(),
    timing: quick ? { warmUpMs: 150, timedMs: 250 } : { warmUpMs: 250, timedMs: 800 },
    full,
  }
  const date = new Date()
  const machine = describeMachine()
  const { onStep, end } = showProgress()
  const results = await runRounds(
    tasks.map(({ name, file, groups }) => ({ name, file, groups: groups(plan) })),
    { rounds, onStep },
  )
  end()
  return {
    bench: 'memory',
    title: 'Memory',
    command,
    date,
    machine,
    method: describeMethod(rounds),
    tables: [contestantTable(plan.contestants), ...tasks.map((task) => task.table(plan, results))],
    bars: memoryBars(plan, results),
    failures: results.failures,
  }
}

/** @param {number} rounds */
function describeMethod(rounds) {
  const numbers = rounds === 1 ? 'One round' : `Medians of ${rounds} interleaved rounds`
  return `${numbers}, each measurement in a process of its own. Ratios are taken within a round, then their median.`
}
