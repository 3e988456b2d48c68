// A child process with a connection of its own. It makes the calls that its parent sends. Uses the built package, as applications do.

import { createLimiter } from 'sluice'
import { makeRule } from 'sluice/rules'
import { sqliteStore } from 'sluice/sqlite'
import { openSqlite } from '../../../../test/servers/sqlite-drivers.mjs'
import { answerParent, callByName } from '../processes/answer-parent.mjs'

/** @import { Task } from './limiter-processes.ts' */

// Calls are made one after another, because each answers at once.
answerParent((/** @type {Task} */ { file, table, rules, calls, startMs, busyTimeoutMs }) => {
  const database = openSqlite(file)
  const store = sqliteStore(database, { table, busyTimeoutMs })
  const limiter = createLimiter({ rules: rules.map(makeRule), store })
  // All processes begin at the same moment.
  while (Date.now() < startMs);
  const answers = calls.map((call) => callByName(limiter, call))
  database.close()
  return { answers, nowMs: Date.now() }
})
