// Conditional changes of policies, with If-Match and If-None-Match.

import type { IncomingHttpHeaders } from 'node:http'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import type { Policy } from '../../../policies/policy.ts'
import { etagOf } from '../../../policies/policy-etag.ts'

/** Throws ERR_PRECONDITION unless the policy is as the request expects. `policy` is undefined if there is none. */
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

/** True if the list of ETags, or `*` for any, includes the policy's ETag. */
function names(tags: string, policy: Policy | undefined): boolean {
  if (policy === undefined) return false
  const tag = etagOf(policy)
  return tags.trim() === '*' || tags.split(',').some((each) => each.trim() === tag)
}
