// Changes a policy only if nobody changed it since it was loaded.

import { ApiError, call } from '../../api/call.ts'

/** `etag` is the policy's ETag when it was loaded. Undefined for a new policy, which must not exist yet. */
export async function changePolicy(
  method: 'PUT' | 'DELETE',
  name: string,
  etag: string | undefined,
  body?: object,
): Promise<void> {
  const headers: Record<string, string> = etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
  try {
    await call(method, `/v1/policies/${encodeURIComponent(name || ' ')}`, { headers, ...(body && { body }) })
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error
    if (etag === undefined) throw new Error(`There is a policy called ${name} already: open it to change it.`)
    throw new Error('Somebody has changed this policy since you opened it. Load the page anew to see how it is now.')
  }
}
