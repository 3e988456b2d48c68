// A clock that a test moves. Its timers fire while it moves.

import type { TimerClock } from '../core/clock.ts'

export interface FakeClock extends TimerClock {
  /** Moves the clock forward, and fires timers in order on the way. */
  advance(ms: number): void
  /** Sets the clock to any time, also an earlier one, as an operator or NTP would. Timers keep their remaining delay. */
  set(nowMs: number): void
}

interface Timer {
  dueMs: number
  readonly callback: () => void
}

/** Makes a clock for tests. Its start is not a multiple of any usual window. */
export function fakeClock(startMs = 1_763_193_637_123): FakeClock {
  let nowMs = startMs
  const timers = new Set<Timer>()
  const firstUntil = (untilMs: number): Timer | undefined => {
    let first: Timer | undefined
    for (const timer of timers) if (timer.dueMs <= untilMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer
    return first
  }
  return {
    now: () => nowMs,
    after(delayMs, callback) {
      const timer = { dueMs: nowMs + delayMs, callback }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    advance(ms) {
      const untilMs = nowMs + ms
      for (let next = firstUntil(untilMs); next !== undefined; next = firstUntil(untilMs)) {
        timers.delete(next)
        nowMs = Math.max(nowMs, next.dueMs)
        next.callback()
      }
      nowMs = untilMs
    },
    set(toMs) {
      for (const timer of timers) timer.dueMs += toMs - nowMs
      nowMs = toMs
    },
  }
}
