// A clock that a test moves. Its timers fire on the way.

import type { TimerClock } from '../core/clock.ts'

export interface FakeClock extends TimerClock {
  /** Moves the clock forward, firing timers in order as it passes them. */
  advance(ms: number): void
  /** Puts the clock at any time, also an earlier one, as an operator or NTP would. Timers keep the delay they had left. */
  set(nowMs: number): void
}

interface Timer {
  dueMs: number
  readonly callback: () => void
}

/** A clock for tests. Starts at a time that is no multiple of any usual window. */
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
