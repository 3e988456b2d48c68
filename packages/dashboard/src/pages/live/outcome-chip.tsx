// The outcome of a check as a word and a colour.

import type { CheckEvent } from '../../api/answers.ts'
import { type EventKind, kindOf } from './event-kind.ts'

const CHIPS: Readonly<Record<EventKind, readonly [tone: string, text: string]>> = {
  allowed: ['', 'allowed'],
  denied: ['bad', 'denied'],
  shadow: ['shadow', 'shadow-denied'],
  error: ['bad', 'error'],
}

export function OutcomeChip({ event }: { readonly event: CheckEvent }) {
  const [tone, text] = CHIPS[kindOf(event)]
  return <span class={`chip ${tone}`}>{text}</span>
}
