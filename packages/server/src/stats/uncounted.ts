// Tells decisions whose numbers describe no client.

import type { Decision } from 'sluice'

/** True if the store failed and the fallback allows or denies every check. Nothing was counted. */
export function isUncounted({ failure }: Decision): boolean {
  return failure !== undefined && failure.then !== 'local'
}
