// Bodies: JSON, not nested deeper than anybody means it, and all of it text.
// Invariant: two different ids stay different. Bytes that are not UTF-8, and halves of characters, would all become the same sign.

import { isUtf8 } from 'node:buffer'
import { ServerError } from '../errors.ts'

/** How deep lists and objects may be nested. */
export const MOST_DEPTH = 8

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** A body that is not what it was sent as: who knows what its sender will send next. */
export class UnusableBody extends ServerError {}

/** An escape of half a character; it may have its other half beside it. */
const HALF_ESCAPED = /\\u[dD][89a-fA-F]/

/** Half a character without its other half. */
const HALF = /\p{Surrogate}/u

/** Reads a body; throws ERR_INPUT. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new UnusableBody('ERR_INPUT', 'the body is not UTF-8')
  const text = body.toString('utf8')
  if (opens(text) > MOST_DEPTH && isTooDeep(text))
    throw new UnusableBody('ERR_INPUT', `the body is nested deeper than ${MOST_DEPTH} levels`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'it is empty' : (error as Error).message
    throw new UnusableBody('ERR_INPUT', `the body is not JSON: ${reason}`, { cause: error })
  }
  if (HALF_ESCAPED.test(text) && hasHalf(value))
    throw new UnusableBody('ERR_INPUT', 'the body has half a character: \\ud800 to \\udfff')
  return value
}

/** True if a name or text in a value, which is not deep, has half a character. */
function hasHalf(value: unknown): boolean {
  if (typeof value === 'string') return HALF.test(value)
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([name, inner]) => HALF.test(name) || hasHalf(inner))
}

/** How many lists and objects could begin in the text, those that only stand in quotes included; more than MOST_DEPTH are not all counted. */
function opens(text: string): number {
  let count = 0
  for (const sign of '{[') {
    for (let at = text.indexOf(sign); at >= 0 && count <= MOST_DEPTH; at = text.indexOf(sign, at + 1)) count += 1
  }
  return count
}

/** Looks at the text, so that nothing is built from what is refused. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = endOfQuoted(text, i)
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth += 1
      if (depth > MOST_DEPTH) return true
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1
    }
  }
  return false
}

/** Where the quotes end that begin at `start`; if they do not, where the text does. */
function endOfQuoted(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return text.length
}
