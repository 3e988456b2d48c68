// A client id that is not too long to count by.
// Invariant: two different values never give one id, as far as SHA-256 tells them apart.

import { createHash } from 'node:crypto'
import { LONGEST_CLIENT_ID } from './schemas.ts'

/** Enough to recognise a value by. The rest of a long one is often a token, which is nobody's business. */
const SHOWN_CHARACTERS = 64

/** A value as it is; or, if it is longer than an id may be, its beginning and its SHA-256. */
export function shortClientId(value: string): string {
  if (value.length <= LONGEST_CLIENT_ID) return value
  // Half of a character that takes two code units is no character.
  const shown = value.slice(0, SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, '')
  return `${shown}~sha256-${createHash('sha256').update(value).digest('base64url')}`
}
