// Shares revoked keys between instances through the database while records are lost, so that an instance with an older copy refuses
// them too.
// Invariant: everything that is sent and read is bounded. The list expires when no instance repeats it.

import { withEarliestEnd } from '../../keys/earliest-end.ts'
import type { Change } from '../../records.ts'
import type { RecordsDatabase } from './records-database.ts'

/** Lifetime of the list. Each poll renews it. */
const NAMED_FOR_MS = 10_000

/** Maximum number of keys from one instance: the latest revocations. */
const MOST_BY_ONE = 1000

/** Maximum number of keys in the list. */
const MOST_BY_ALL = 2000

/** Ids of the service are shorter than this. */
const LONGEST_ID = 64

type Keys = ReadonlyMap<string, unknown>

/** Adds the keys that are revoked here to the list. Returns changes that revoke the keys in the list. */
export async function shareRevoked(keys: Keys, database: RecordsDatabase): Promise<readonly Change[]> {
  const revoked = [...keys]
    .map(([id, value]) => [id, (value as { revokedAt?: unknown } | null)?.revokedAt] as const)
    .filter((named): named is [string, number] => typeof named[1] === 'number' && named[0].length <= LONGEST_ID)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_BY_ONE)
  if (revoked.length > 0) await database.nameRevoked(revoked, { forMs: NAMED_FOR_MS, most: MOST_BY_ALL })
  return (await database.namedRevoked()).flatMap(([id, revokedAt]): Change[] => {
    const ours = keys.get(id)
    const value = withEarliestEnd(ours, { revokedAt })
    const isNew = (ours as { revokedAt?: unknown } | undefined)?.revokedAt === undefined
    return isNew && value !== ours && Number.isFinite(revokedAt) ? [{ kind: 'key', id, value }] : []
  })
}
