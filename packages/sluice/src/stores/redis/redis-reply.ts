// Reads the reply of a program: the figures of all calls, joined by commas. A call that failed has its error message instead, as JSON.

import { type Call, figureCount } from '../../core/call.ts'
import type { ScriptedAnswer } from '../../engines/scripted.ts'
import { failedAnswer } from './redis-errors.ts'

const COMMA = 44
const MINUS = 45
const ZERO = 48

/** Returns the answer to each call. `reply` is the client's type for texts. Throws if it is not a reply to these calls. */
export function readAnswers(reply: unknown, calls: readonly Call[]): ScriptedAnswer[] {
  const text = String(reply)
  // JSON.parse would read figures, too, but takes several times as long. Only messages have quotes.
  const list = text.includes('"') ? (JSON.parse(`[${text}]`, infinite) as unknown[]) : figuresIn(text)
  // A lone call has all of the list.
  if (calls.length === 1 && typeof list[0] === 'number' && list.length === figureCount(calls[0])) return [list as number[]]
  let at = 0
  const answers: ScriptedAnswer[] = []
  for (const call of calls) {
    const message = list[at]
    if (typeof message === 'string') {
      at += 1
      answers.push(failedAnswer(new Error(message)))
    } else {
      const end = at + figureCount(call)
      answers.push(list.slice(at, end) as number[])
      at = end
    }
  }
  if (at !== list.length) throw new Error(`the program returned ${list.length} figures where ${at} belong: ${text}`)
  return answers
}

/** The program writes −1 for Infinity. All other numbers are at least 0. */
function infinite(_key: string, value: unknown): unknown {
  return value === -1 ? Number.POSITIVE_INFINITY : value
}

/** Returns figures that are joined by commas: digits, or −1 for Infinity. Returns none if the text has anything else. */
function figuresIn(text: string): number[] {
  const figures: number[] = []
  let figure = 0
  let isNegative = false
  let start = 0
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? COMMA : text.charCodeAt(i)
    if (code === COMMA) {
      const isEmpty = i === start + (isNegative ? 1 : 0)
      if (isEmpty || (isNegative && figure !== 1)) return []
      figures.push(isNegative ? Number.POSITIVE_INFINITY : figure)
      figure = 0
      isNegative = false
      start = i + 1
    } else if (code === MINUS && i === start) isNegative = true
    else if (code >= ZERO && code < ZERO + 10) figure = figure * 10 + (code - ZERO)
    else return []
  }
  return figures
}
