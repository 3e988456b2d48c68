// The kind of a check's outcome, as the pages distinguish it.

import type { CheckEvent } from '../../api/answers.ts'

export type EventKind = 'allowed' | 'denied' | 'shadow' | 'error'

export function kindOf({ outcome, reason }: Pick<CheckEvent, 'outcome' | 'reason'>): EventKind {
  if (outcome === 'error') return 'error'
  if (outcome === 'deny') return 'denied'
  return reason === 'shadow' ? 'shadow' : 'allowed'
}
