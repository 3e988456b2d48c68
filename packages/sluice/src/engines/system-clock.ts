// The system's clock and timers. Engines use them if an author gives no clock, or a clock without timers.

import type { Clock, TimerClock } from '../core/clock.ts'
import { mustBe } from '../core/errors.ts'
import { MAX_TIME_MS } from '../core/whole-numbers.ts'

/** The longest delay of setTimeout: a signed 32-bit number. Above it, setTimeout fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The system's clock. It looks up Date and setTimeout at each call, because test runners replace them. */
export const systemClock: TimerClock = { now: () => Date.now(), after }

/** Returns a clock with the time of `clock`, checked at each reading. Its timers are those of `clock`, else the system's. */
export function checkedClock(clock: Clock): TimerClock {
  if (typeof (clock as Clock | null)?.now !== 'function') throw mustBe('ERR_OPTION', 'clock', 'an object with now()', clock)
  const now = (): number => {
    const nowMs = Math.floor(clock.now())
    if (nowMs >= 0 && nowMs <= MAX_TIME_MS) return nowMs
    throw mustBe('ERR_CLOCK', 'clock.now()', 'milliseconds since the epoch', nowMs)
  }
  return { now, after: clock.after === undefined ? after : (...args) => (clock as TimerClock).after(...args) }
}

function after(delayMs: number, callback: () => void, isInBackground = false): () => void {
  let timer: ReturnType<typeof setTimeout>
  const arm = (leftMs: number): void => {
    const nextMs = Math.min(leftMs, LONGEST_TIMER_MS)
    timer = setTimeout(() => (leftMs > nextMs ? arm(leftMs - nextMs) : callback()), nextMs)
    if (isInBackground) (timer as { unref?(): void }).unref?.()
  }
  arm(delayMs)
  return () => clearTimeout(timer)
}
