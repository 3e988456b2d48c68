// Reads the reply of a program: the figures of all calls, joined by commas. A call that failed has its error message instead, as JSON.

import { type Call, figureCount } from '../../core/call.ts'
import type { ScriptedAnswer } from '../../engines/scripted.ts'
import { failedAnswer } from './redis-errors.ts'

/** The program writes this number for Infinity. All other numbers are at least 0. */
const NEVER = -1

/** Returns the answer to each call. `reply` is the client's type for texts. Throws if it is not a reply to these calls. */
export function readAnswers(reply: unknown, calls: readonly Call[]): ScriptedAnswer[] {
  const list: unknown[] = JSON.parse(`[${String(reply)}]`)
  let at = 0
  const answers = calls.map((call) => {
    const message = list[at]
    if (typeof message === 'string') {
      at += 1
      return failedAnswer(new Error(message))
    }
    const figures: number[] = []
    for (const end = at + figureCount(call); at < end; at++)
      figures.push(list[at] === NEVER ? Number.POSITIVE_INFINITY : (list[at] as number))
    return figures
  })
  if (at !== list.length) throw new Error(`the program returned ${list.length} figures where ${at} belong: ${String(reply)}`)
  return answers
}
