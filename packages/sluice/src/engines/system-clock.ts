// The machine's clock and timers, for stores that are given none or one that cannot wake anybody.

import type { Clock, TimerClock } from '../core/clock.ts'
import { SluiceError, show } from '../core/errors.ts'
import { MAX_TIME_MS } from '../core/whole-numbers.ts'

/** setTimeout takes a signed 32-bit number and fires at once above it. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

// Looked up at each call, so that test runners which replace Date and setTimeout are heard.
export const systemClock: TimerClock = { now: () => Date.now(), after }

/** Somebody's clock: checked at each reading, and with the system's timers if it has none of its own. */
export function checkedClock(clock: Clock): TimerClock {
  const now = (): number => {
    const nowMs = Math.floor(clock.now())
    if (nowMs >= 0 && nowMs <= MAX_TIME_MS) return nowMs
    throw new SluiceError('ERR_CLOCK', `the clock must answer milliseconds since the epoch, got ${show(nowMs)}`)
  }
  return { now, after: clock.after === undefined ? after : (delayMs, callback) => (clock as TimerClock).after(delayMs, callback) }
}

function after(delayMs: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const arm = (leftMs: number): void => {
    const nextMs = Math.min(leftMs, LONGEST_TIMER_MS)
    timer = setTimeout(() => (leftMs > nextMs ? arm(leftMs - nextMs) : callback()), nextMs)
  }
  arm(delayMs)
  return () => clearTimeout(timer)
}
