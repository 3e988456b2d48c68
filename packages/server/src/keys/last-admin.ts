// The rule that at least one valid admin key remains.

import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { type ApiKey, isValid, mayUse } from './api-key.ts'

/** Returns an error if the key is the only valid key with the scope `admin`. */
export function lastAdminRefusal(key: ApiKey, all: Iterable<ApiKey>, nowMs: number): ServerError | undefined {
  const canAdminister = (each: ApiKey): boolean => mayUse(each, 'admin') && isValid(each, nowMs)
  if (!canAdminister(key)) return undefined
  for (const other of all) if (other.id !== key.id && canAdminister(other)) return undefined
  return new ServerError(
    'ERR_KEY_LAST',
    `the key ${show(key.id)} is the last valid key with the scope admin: create another admin key first, or revoke it with force`,
  )
}
