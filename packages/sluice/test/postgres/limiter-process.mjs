// A child process with a pool of its own. Uses the built package, as applications do.

import '../processes/skewed-clock.mjs'
import pg from 'pg'
import { createLimiter } from 'sluice'
import { postgresStore } from 'sluice/postgres'
import { makeRule } from 'sluice/rules'
import { answerParent, answersTo } from '../processes/answer-parent.mjs'

/** @import { Task } from './limiter-processes.ts' */

const client = new pg.Pool({ connectionString: process.env.POSTGRES_URL })
/** @type {Map<string, ReturnType<typeof postgresStore>>} */
const stores = new Map()

answerParent((/** @type {Task} */ { rules, table, mode = 'transaction', calls }) => {
  const store = stores.get(table) ?? postgresStore(client, { table, mode })
  stores.set(table, store)
  return answersTo(createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } }), calls)
})
