// A child process with a pool of its own. It makes the calls that its parent sends. SKEW_MS shifts its clock. Uses the built
// package, as applications do.

/** @import { Limiter } from 'sluice' */
/** @import { Task } from './limiter-processes.ts' */

const skewMs = Number(process.env.SKEW_MS ?? 0)
const RealDate = Date
// Set before anything else is loaded, so that no module has read the right time.
globalThis.Date = /** @type {DateConstructor} */ (
  class extends RealDate {
    /** @param {[] | [number | string | Date]} args */
    constructor(...args) {
      super(args.length === 0 ? RealDate.now() + skewMs : args[0])
    }

    /** @override */
    static now() {
      return RealDate.now() + skewMs
    }
  }
)

const { default: pg } = await import('pg')
const { createLimiter } = await import('sluice')
const { postgresStore } = await import('sluice/postgres')
const { makeRule } = await import('sluice/rules')

const client = new pg.Pool({ connectionString: process.env.POSTGRES_URL })
/** @type {Map<string, ReturnType<typeof postgresStore>>} */
const stores = new Map()

/**
 * Makes all calls of a task at once.
 * @param {Task} task
 */
async function answersTo({ rules, table, mode = 'transaction', calls }) {
  const store = stores.get(table) ?? postgresStore(client, { table, mode })
  stores.set(table, store)
  const limiter = createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } })
  return Promise.all(calls.map(([method, ...args]) => callByName(limiter, method, args)))
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
