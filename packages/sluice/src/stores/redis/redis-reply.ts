// Reads the reply of the program: the figures of all calls, one after another. A call that failed has its error message instead.

import { type Call, figureCount } from '../../core/call.ts'
import type { ScriptedAnswer } from '../../engines/scripted.ts'
import { failedAnswer } from './redis-errors.ts'

/** The program writes this number for Infinity. All other numbers are at least 0. */
const NEVER = -1

/** Returns the answer to each call. `reply` is JSON, as the client's type for texts. */
export function readAnswers(reply: unknown, calls: readonly Call[]): ScriptedAnswer[] {
  const list: unknown = JSON.parse(String(reply))
  if (!Array.isArray(list)) throw new Error(`the program returned ${reply}, not a list`)
  let at = 0
  return calls.map((call) => {
    if (typeof list[at] !== 'number') return failedAnswer(new Error(String(list[at++])))
    const figures: number[] = []
    for (const end = at + figureCount(call); at < end; at++)
      figures.push(list[at] === NEVER ? Number.POSITIVE_INFINITY : list[at])
    return figures
  })
}
