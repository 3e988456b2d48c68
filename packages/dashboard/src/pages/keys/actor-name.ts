// Names of keys in the audit log. The log holds ids, because two keys may have the same name.

import type { AuditEntry, Key } from '../../api/answers.ts'

/** The actor of an entry. A key is shown by its name, any other actor as in the log. */
export function actorName(actor: string, keys: readonly Key[] | undefined): string {
  return keys?.find(({ id }) => id === actor)?.name ?? actor
}

/** The target of an entry. A key is shown by its name, any other target as in the log. */
export function targetName({ action, target }: AuditEntry, keys: readonly Key[] | undefined): string {
  const isKey = action.startsWith('key.') || action.startsWith('session.')
  return isKey ? actorName(target, keys) : target
}
