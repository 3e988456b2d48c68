// Beats of waiting callers: a caller whose request has ended is noticed, and a living one never is.

import { expect, test } from 'vitest'
import type { Turn } from '../core/waiting.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { Place } from './waiting-place.ts'

const BEAT_MS = 10_000
const turn: Turn<unknown> = {
  call: { operation: 'hit', charges: [] },
  isEstimate: false,
  attempt: () => undefined,
  decisionOf: () => {
    throw new Error('nobody asks')
  },
}
const waiter = { turn, signal: undefined, maxWaitMs: Number.POSITIVE_INFINITY }
const nothing = (): void => {}

test('after some intervals a caller misses the beats of one that has ended, and not of one that lives', () => {
  const clock = fakeClock()
  const events = { onAbort: nothing, onPatienceOver: nothing, onBeat: nothing, onCall: nothing }
  const [watcher, other, living, ended] = Array.from({ length: 4 }, () => new Place(waiter, clock))
  const seen: boolean[][] = []
  // The beats of the living caller come just after those of the watchers.
  clock.advance(1)
  living.stay(events)
  living.beat()
  clock.advance(-1 + BEAT_MS)
  for (let interval = 0; interval < 5; interval++) {
    seen.push([watcher.missesBeatsOf(living), other.missesBeatsOf(ended)])
    clock.advance(BEAT_MS)
  }
  expect(seen.map(([isMissed]) => isMissed)).toEqual([false, false, false, false, false])
  expect(seen.map(([, isMissed]) => isMissed)).toEqual([false, false, true, true, true])
})

test('a caller that watches another one begins anew', () => {
  const clock = fakeClock()
  const [watcher, first, second] = Array.from({ length: 3 }, () => new Place(waiter, clock))
  expect([first, first, second, second, second].map((place) => watcher.missesBeatsOf(place))).toEqual([
    false,
    false,
    false,
    false,
    true,
  ])
})
