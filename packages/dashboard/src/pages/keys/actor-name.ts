// Who an entry of the audit log speaks of: a key by its name, anybody else as the log calls them.

import type { KeyAnswer } from '../../api/answers.ts'

export function actorName(actor: string, keys: readonly KeyAnswer[] | undefined): string {
  return keys?.find(({ id }) => id === actor)?.name ?? actor
}
