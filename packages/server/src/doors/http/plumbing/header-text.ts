// Decodes header values. Node decodes each byte to one character; this restores UTF-8.
// Invariant: two headers with different bytes never give the same text.

import { isUtf8 } from 'node:buffer'
import { ServerError } from '../../../errors.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that are ASCII
const BEYOND_ASCII = /[^\u0000-\u007f]/

/** Returns the text of a header, or its bytes if they are not UTF-8. */
export function headerText(value: string): string | Buffer {
  if (!BEYOND_ASCII.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes
}

/** Client id from the header X-Client-Id. */
export function headerClientId(value: string): string {
  const text = headerText(value)
  if (typeof text === 'string') return text
  throw new ServerError('ERR_INPUT', 'the headers: x-client-id is not UTF-8')
}
