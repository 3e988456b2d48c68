// Changes a policy only if nobody changed it since it was loaded.

import type { RequestOf } from 'sluice-client/contract'
import type { PolicySpec } from '../../api/answers.ts'
import { ApiError, call } from '../../api/call.ts'

/** Without `spec` the policy is deleted. `etag` is the policy's ETag when it was loaded. Undefined for a new policy, which must not exist yet. */
export async function changePolicy(name: string, etag: string | undefined, spec: Partial<PolicySpec> | undefined): Promise<void> {
  const header = etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
  // A policy without a name is one that the service refuses with its own message.
  const path = { name: name || ' ' }
  try {
    if (spec === undefined) await call('deletePolicy', { path, header })
    else await call('putPolicy', { path, header, body: spec as RequestOf<'putPolicy'>['body'] & object })
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error
    if (etag === undefined) throw new Error(`There is a policy called ${name} already: open it to change it.`)
    throw new Error('Somebody has changed this policy since you opened it. Load the page anew to see how it is now.')
  }
}
