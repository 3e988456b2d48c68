// Text in headers. HTTP hands over bytes, and Node one character for each: what is UTF-8 on the wire is put together again.

import { isUtf8 } from 'node:buffer'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that are ASCII
const BEYOND_ASCII = /[^\u0000-\u007f]/

export function headerText(value: string): string {
  if (!BEYOND_ASCII.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}
