// A child process with a pool of its own. It makes the calls that its parent sends. SKEW_MS shifts its clock. Uses the built package,
// as applications do.

/** @import { Limiter } from 'sluice' */
/** @import { Task } from './limiter-processes.ts' */

const skewMs = Number(process.env.SKEW_MS ?? 0)
const systemNow = Date.now
// Set before anything else is loaded, so that no module has read the right time.
Date.now = () => systemNow() + skewMs

const { createPool } = await import('mysql2/promise')
const { createLimiter } = await import('sluice')
const { mysqlStore } = await import('sluice/mysql')
const { makeRule } = await import('sluice/rules')

const pool = createPool(JSON.parse(process.env.ADDRESS ?? '{}'))

/**
 * Makes all calls of a task, each turn of them at once.
 * @param {Task} task
 */
async function answersTo({ rules, table, turns }) {
  const store = mysqlStore(pool, { table, sweepEveryMs: 0 })
  const limiter = createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } })
  const answers = []
  for (const calls of turns)
    answers.push(...(await Promise.all(calls.map(([method, ...args]) => callByName(limiter, method, args)))))
  return answers
}

/**
 * @param {Limiter<'async'>} limiter
 * @param {string} method
 * @param {unknown[]} args
 * @returns {unknown}
 */
function callByName(limiter, method, args) {
  const called = /** @type {unknown} */ (Reflect.get(limiter, method))
  if (typeof called !== 'function') throw new Error(`a limiter has no method ${method}`)
  return Reflect.apply(called, limiter, args)
}

process.on('message', async (/** @type {{ id: number, task: Task }} */ { id, task }) => {
  try {
    process.send?.({ id, answers: await answersTo(task), nowMs: Date.now() })
  } catch (error) {
    process.send?.({ id, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
