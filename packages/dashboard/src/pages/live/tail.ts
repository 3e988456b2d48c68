// The latest events, newest first, in bounded memory. New events wait while the list is paused.

import type { CheckEvent } from '../../api/answers.ts'
import { type EventKind, kindOf } from './event-kind.ts'

/** An event with a unique number, which keeps its row the same across updates. */
export interface TailEvent extends CheckEvent {
  readonly number: number
}

export interface Tail {
  readonly events: readonly TailEvent[]
  /** Events that arrived while the list is paused. */
  readonly waiting: readonly TailEvent[]
  readonly isPaused: boolean
  /** Checks that the service left out of its sample. */
  readonly skipped: number
  readonly count: number
}

/** Number of events kept: more than anybody scrolls through. */
export const MOST_KEPT = 500

export const EMPTY_TAIL: Tail = { events: [], waiting: [], isPaused: false, skipped: 0, count: 0 }

export function added(tail: Tail, came: readonly CheckEvent[]): Tail {
  const numbered = came.map((event, i) => ({ ...event, number: tail.count + i })).reverse()
  const skipped = came.reduce((sum, event) => sum + event.skipped, tail.skipped)
  const next = { ...tail, skipped, count: tail.count + came.length }
  if (tail.isPaused) return { ...next, waiting: [...numbered, ...tail.waiting].slice(0, MOST_KEPT) }
  return { ...next, events: [...numbered, ...tail.events].slice(0, MOST_KEPT) }
}

export function paused(tail: Tail, isPaused: boolean): Tail {
  if (isPaused) return { ...tail, isPaused }
  return { ...tail, isPaused, events: [...tail.waiting, ...tail.events].slice(0, MOST_KEPT), waiting: [] }
}

/** Events of a kind that contain a text in their client, route, policy or rule. */
export function matching(events: readonly TailEvent[], kind: EventKind | 'all', text: string): readonly TailEvent[] {
  const wanted = text.trim().toLowerCase()
  return events.filter((event) => {
    if (kind !== 'all' && kindOf(event) !== kind) return false
    const { client_id, route, policy, rule } = event
    return wanted === '' || [client_id, route, policy, rule].some((value) => value.toLowerCase().includes(wanted))
  })
}
