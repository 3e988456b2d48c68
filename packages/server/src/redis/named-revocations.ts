// Revoked keys that instances name to each other in Redis while records are lost: an instance that comes back with an older copy
// refuses them too.
// Invariant: all that is sent and read is bounded; the names go by themselves when nobody repeats them.

import type { Change } from '../data/records.ts'
import { withEarliestEnd } from '../keys/earliest-end.ts'
import { pairsOf } from './found-records.ts'
import { NAME_REVOKED, NAMED_REVOKED } from './records-programs.ts'
import type { RunProgram } from './restore-records.ts'

/** So long after they were last named the names go. An instance names them at each look. */
const NAMED_FOR_MS = 10_000

/** Keys that one instance names: those that were revoked last. */
const MOST_BY_ONE = 1000

/** Keys that are named by all together. */
const MOST_BY_ALL = 2000

/** Ids that the service makes are shorter. */
const LONGEST_ID = 64

type Keys = ReadonlyMap<string, unknown>

/** Names the keys that are revoked here; → changes that revoke those that others name. */
export async function shareRevoked(keys: Keys, run: RunProgram): Promise<readonly Change[]> {
  const revoked = [...keys]
    .map(([id, value]) => [id, (value as { revokedAt?: unknown } | null)?.revokedAt] as const)
    .filter((named): named is [string, number] => typeof named[1] === 'number' && named[0].length <= LONGEST_ID)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_BY_ONE)
  const facts = [NAMED_FOR_MS, MOST_BY_ALL, ...revoked.flat()].map(String)
  if (revoked.length > 0) await run(NAME_REVOKED, ...facts)
  const named = (await run(NAMED_REVOKED)) as readonly string[]
  return [...pairsOf(named)].flatMap(([id, at]): Change[] => {
    const ours = keys.get(id)
    const value = withEarliestEnd(ours, { revokedAt: Number(at) })
    const isNew = (ours as { revokedAt?: unknown } | undefined)?.revokedAt === undefined
    return isNew && value !== ours && Number.isFinite(Number(at)) ? [{ kind: 'key', id, value }] : []
  })
}
