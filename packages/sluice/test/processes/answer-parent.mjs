// The side of a child process: it does the tasks that its parent sends, one reply for each.

/** @import { Limiter } from 'sluice' */
/** @import { MethodCall } from './asked-process.ts' */

/**
 * @template T
 * @param {(task: T) => unknown} reply returns the reply to a task, or a promise of it
 */
export function answerParent(reply) {
  process.on('message', async (/** @type {{ id: number, task: T }} */ { id, task }) => {
    try {
      process.send?.({ id, reply: await reply(task) })
    } catch (error) {
      process.send?.({ id, error: String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

/**
 * Calls a method by its name.
 * @param {Limiter} limiter
 * @param {MethodCall} call
 * @returns {unknown}
 */
export function callByName(limiter, [method, ...args]) {
  const called = /** @type {unknown} */ (Reflect.get(limiter, method))
  if (typeof called !== 'function') throw new Error(`a limiter has no method ${method}`)
  return Reflect.apply(called, limiter, args)
}

/**
 * Makes all calls at once.
 * @param {Limiter} limiter
 * @param {readonly MethodCall[]} calls
 */
export async function answersTo(limiter, calls) {
  const answers = await Promise.all(calls.map((call) => callByName(limiter, call)))
  return { answers, nowMs: Date.now() }
}
