// Parses bodies: JSON of bounded depth, and valid Unicode.
// Invariant: two different ids stay different. Invalid UTF-8 and lone surrogates would all decode to the same character (U+FFFD).

import { isUtf8 } from 'node:buffer'
import { ServerError } from '../../../errors.ts'

/** Maximum nesting of arrays and objects. */
export const MOST_DEPTH = 8

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** A body that cannot be used. The connection is closed, because the next bytes on it cannot be trusted. */
export class UnusableBody extends ServerError {}

/** An escaped surrogate. Its other half may stand beside it. */
const HALF_ESCAPED = /\\u[dD][89a-fA-F]/

/** A lone surrogate. */
const HALF = /\p{Surrogate}/u

/** Throws ERR_INPUT. */
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

/** True if a property name or a text contains a lone surrogate. Precondition: the depth of `value` is bounded. */
export function hasHalf(value: unknown): boolean {
  if (typeof value === 'string') return HALF.test(value)
  if (value === null || typeof value !== 'object') return false
  return Object.entries(value).some(([name, inner]) => HALF.test(name) || hasHalf(inner))
}

/** Upper bound for the depth: counts opening brackets, including those in quotes. Stops counting above MOST_DEPTH. */
function opens(text: string): number {
  let count = 0
  for (const sign of '{[') {
    for (let at = text.indexOf(sign); at >= 0 && count <= MOST_DEPTH; at = text.indexOf(sign, at + 1)) count += 1
  }
  return count
}

/** Scans the text, so that nothing is built from a body that is refused. */
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

/** Returns the index of the closing quote for the opening quote at `start`, or the end of the text if there is none. */
function endOfQuoted(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return text.length
}
