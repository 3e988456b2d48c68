// What a policy is known by to those who change it only if it is still what they have seen: ETag, If-Match, If-None-Match.
// What must stay true: the same policy has the same tag on every instance, and two different ones have different tags.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import type { Policy } from '../policies/policy.ts'

/** Enough of the hash for as many policies as there will ever be. */
const TAG_CHARACTERS = 22

export function etagOf({ spec, source }: Policy): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([source, spec]))
    .digest('base64url')
  return `"${hash.slice(0, TAG_CHARACTERS)}"`
}

/** Throws ERR_PRECONDITION unless the policy is what the request expects; undefined is one that is not there. */
export function checkExpected(headers: IncomingHttpHeaders, name: string, policy: Policy | undefined): void {
  const { 'if-match': expected, 'if-none-match': unexpected } = headers
  if (expected !== undefined && !names(expected, policy)) {
    const how = policy === undefined ? 'is not there' : `has been changed: its ETag is ${etagOf(policy)}`
    throw new ServerError('ERR_PRECONDITION', `the policy ${show(name)} ${how}`)
  }
  if (unexpected !== undefined && names(unexpected, policy)) {
    throw new ServerError('ERR_PRECONDITION', `there is a policy ${show(name)} already`)
  }
}

/** Whether a list of tags, or `*` for any, names the policy. */
function names(tags: string, policy: Policy | undefined): boolean {
  if (policy === undefined) return false
  const tag = etagOf(policy)
  return tags.trim() === '*' || tags.split(',').some((each) => each.trim() === tag)
}
