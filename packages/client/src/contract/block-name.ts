// The name of the policy that blocks a client. The command line and the pages make blocks under this name, so that one client has one.

import { LIMITS, PATTERNS } from './constants.ts'

const NAME = new RegExp(PATTERNS.name)

/** Start of the names of clients whose own name does not fit. */
const HASHED = 'sha256:'

/** Hexadecimal digits of a hash: 128 bits. */
const HASH_DIGITS = 32

/**
 * Resolves to the name of the policy that blocks a client. A client whose characters do not fit a name is named by a hash. Rejects if this
 * needs a hash and the runtime offers none, as browsers do outside of HTTPS.
 */
export async function blockName(client: string): Promise<string> {
  const name = `block:${client}`
  if (NAME.test(name) && name.length <= LIMITS.longestName && !client.startsWith(HASHED)) return name
  const { subtle } = crypto
  if (subtle === undefined) throw new Error('The name of this client needs a hash, which browsers offer over HTTPS only.')
  const digest = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(client)))
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `block:${HASHED}${hex.slice(0, HASH_DIGITS)}`
}
