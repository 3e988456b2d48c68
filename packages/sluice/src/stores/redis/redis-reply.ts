// The reply of the program: whole numbers, one after another; in place of those of a call that failed, the text of its error.

import { type Call, type Figures, figureCount } from '../../core/call.ts'
import type { SluiceError } from '../../core/errors.ts'
import { callError } from './redis-errors.ts'

/** The program's sign for a wait that never ends. All other numbers are at least 0. */
const NEVER = -1

/** Reads the answer to each call from a reply: JSON, in whatever the client hands out for a text. */
export function readAnswers(reply: unknown, calls: readonly Call[]): (Figures | SluiceError)[] {
  const list: unknown = JSON.parse(String(reply))
  if (!Array.isArray(list)) throw new Error(`the program answered ${reply}, not a list`)
  let at = 0
  return calls.map((call) => {
    if (typeof list[at] !== 'number') return callError(new Error(String(list[at++])))
    const figures: number[] = []
    for (const end = at + figureCount(call); at < end; at++)
      figures.push(list[at] === NEVER ? Number.POSITIVE_INFINITY : list[at])
    return figures
  })
}
