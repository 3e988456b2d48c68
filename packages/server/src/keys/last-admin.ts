// The rule that somebody stays able to administer.

import { ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'
import { type ApiKey, isAlive, mayUse } from './api-key.ts'

/** An error if a key can administer now, and none of the others can: it may not be revoked then, unless by force. */
export function lastAdminRefusal(key: ApiKey, all: Iterable<ApiKey>, nowMs: number): ServerError | undefined {
  const canAdminister = (each: ApiKey): boolean => mayUse(each, 'admin') && isAlive(each, nowMs)
  if (!canAdminister(key)) return undefined
  for (const other of all) if (other.id !== key.id && canAdminister(other)) return undefined
  return new ServerError(
    'ERR_KEY_LAST',
    `the key ${show(key.id)} is the last that can administer: make another admin key first, or revoke it with force`,
  )
}
