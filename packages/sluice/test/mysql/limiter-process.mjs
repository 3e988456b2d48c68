// A child process with a pool of its own. Uses the built package, as applications do.

import '../processes/skewed-clock.mjs'
import { createPool } from 'mysql2/promise'
import { createLimiter } from 'sluice'
import { mysqlStore } from 'sluice/mysql'
import { makeRule } from 'sluice/rules'
import { answerParent, callByName } from '../processes/answer-parent.mjs'

/** @import { Task } from './limiter-processes.ts' */

const pool = createPool(JSON.parse(process.env.ADDRESS ?? '{}'))

answerParent(async (/** @type {Task} */ { rules, table, turns }) => {
  const store = mysqlStore(pool, { table, sweepEveryMs: 0 })
  const limiter = createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } })
  const answers = []
  for (const calls of turns) answers.push(...(await Promise.all(calls.map((call) => callByName(limiter, call)))))
  return { answers, nowMs: Date.now() }
})
