// The error of a check whose place could never be released.

import { ServerError } from '../errors.ts'
import type { Policy } from '../policies/policy.ts'

export function needsReserve({ name }: Pick<Policy, 'name'>): ServerError {
  const message = `the policy ${name} has a concurrency rule: use POST /v1/reserve, and settle or cancel the hold when the work is done`
  return new ServerError('ERR_NEEDS_RESERVE', message)
}
