// Text in headers. HTTP hands over bytes, and Node makes one character of each: UTF-8 is put together again.
// Invariant: two headers of different bytes never give one text.

import { isUtf8 } from 'node:buffer'
import { ServerError } from '../errors.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that are ASCII
const BEYOND_ASCII = /[^\u0000-\u007f]/

/** The text of a header; its bytes, if they are not UTF-8. */
export function headerText(value: string): string | Buffer {
  if (!BEYOND_ASCII.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes
}

/** The client that the header X-Client-Id names. */
export function headerClientId(value: string): string {
  const text = headerText(value)
  if (typeof text === 'string') return text
  throw new ServerError('ERR_INPUT', 'the headers: x-client-id is not UTF-8')
}
