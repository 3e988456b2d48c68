// A child process with a connection of its own. It makes the calls that its parent sends. Uses the built package, as applications do.

import { createLimiter } from 'sluice'
import { makeRule } from 'sluice/rules'
import { sqliteStore } from 'sluice/sqlite'
import { openSqlite } from '../../../../test/servers/sqlite-drivers.mjs'

/** @import { Task } from './limiter-processes.ts' */

/**
 * Makes all calls of a task, one after another.
 * @param {Task} task
 */
function answersTo({ file, table, rules, calls, startMs, busyTimeoutMs }) {
  const database = openSqlite(file)
  const store = sqliteStore(database, { table, busyTimeoutMs })
  const limiter = createLimiter({ rules: rules.map(makeRule), store })
  // All processes begin at the same moment.
  while (Date.now() < startMs);
  const answers = calls.map(([method, ...args]) => {
    const called = /** @type {unknown} */ (Reflect.get(limiter, method))
    if (typeof called !== 'function') throw new Error(`a limiter has no method ${method}`)
    return Reflect.apply(called, limiter, args)
  })
  database.close()
  return answers
}

process.on('message', (/** @type {{ id: number, task: Task }} */ { id, task }) => {
  try {
    process.send?.({ id, answers: answersTo(task) })
  } catch (error) {
    process.send?.({ id, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
