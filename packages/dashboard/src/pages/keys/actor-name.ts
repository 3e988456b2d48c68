// Keys in the audit log, by their names. The log has their ids, because names can be given twice.

import type { AuditEntry, KeyAnswer } from '../../api/answers.ts'

/** The actor of an entry: a key by its name, anybody else as the log calls them. */
export function actorName(actor: string, keys: readonly KeyAnswer[] | undefined): string {
  return keys?.find(({ id }) => id === actor)?.name ?? actor
}

/** The target of an entry: a key by its name, everything else as the log calls it. */
export function targetName({ action, target }: AuditEntry, keys: readonly KeyAnswer[] | undefined): string {
  const isKey = action.startsWith('key.') || action.startsWith('session.')
  return isKey ? actorName(target, keys) : target
}
