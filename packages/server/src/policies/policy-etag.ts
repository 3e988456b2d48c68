// ETags of policies: a short text for the version of a policy, for conditional changes and for reports of several instances.
// Invariant: one policy has the same ETag on every instance, and two different policies have different ETags.

import { createHash } from 'node:crypto'
import type { Policy } from './policy.ts'

/** 22 base64url characters hold 132 bits of the hash. */
const TAG_CHARACTERS = 22

export function etagOf({ spec, source }: Policy): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([source, spec]))
    .digest('base64url')
  return `"${hash.slice(0, TAG_CHARACTERS)}"`
}
