// A client id that can be counted by: text, and not too long.
// Invariant: two different values never give one id, as far as SHA-256 tells them apart.

import { createHash } from 'node:crypto'
import { LONGEST_CLIENT_ID } from './schemas.ts'

/** Enough to recognise a value by. The rest of a long one is often a token, which is nobody's business. */
const SHOWN_CHARACTERS = 64

/** Text as it is. Text that is longer than an id may be, and bytes that are not UTF-8, as their beginning and their SHA-256. */
export function shortClientId(value: string | Buffer): string {
  if (typeof value === 'string' && value.length <= LONGEST_CLIENT_ID) return value
  // Half of a character that takes two code units is no character.
  const shown = value
    .toString()
    .slice(0, SHOWN_CHARACTERS)
    .replace(/[\ud800-\udbff]$/, '')
  return `${shown}~sha256-${createHash('sha256').update(value).digest('base64url')}`
}
