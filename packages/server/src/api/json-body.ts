// Bodies: JSON, and not nested deeper than anybody means it.

import { ServerError } from '../errors.ts'

/** How deep lists and objects may be nested. */
export const MOST_DEPTH = 8

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Reads a body; throws ERR_INPUT. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new ServerError('ERR_INPUT', `the body is nested deeper than ${MOST_DEPTH} levels`)
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = text.trim() === '' ? 'it is empty' : (error as Error).message
    throw new ServerError('ERR_INPUT', `the body is not JSON: ${reason}`, { cause: error })
  }
}

/** Looks at the text, so that nothing is built from what is refused. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isQuoted) {
      if (code === BACKSLASH) i += 1
      else if (code === QUOTE) isQuoted = false
    } else if (code === QUOTE) {
      isQuoted = true
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      depth += 1
      if (depth > MOST_DEPTH) return true
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1
    }
  }
  return false
}
