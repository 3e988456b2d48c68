// Shortens client ids that are too long or not text.
// Invariant: two different values give two different ids, up to collisions of SHA-256.

import { createHash } from 'node:crypto'
import { LIMITS } from '../contract/limits.ts'

/** Enough to recognise a value. The rest of a long value is often a token and must stay secret. */
const SHOWN_CHARACTERS = 64

/** Returns short text unchanged. Longer text and invalid UTF-8 become their beginning plus their SHA-256. */
export function shortClientId(value: string | Buffer): string {
  if (typeof value === 'string' && value.length <= LIMITS.longestClientId) return value
  // The slice may cut a surrogate pair, so a lone half is removed.
  const shown = value
    .toString()
    .slice(0, SHOWN_CHARACTERS)
    .replace(/[\ud800-\udbff]$/, '')
  return `${shown}~sha256-${createHash('sha256').update(value).digest('base64url')}`
}
