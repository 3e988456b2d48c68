// Timers for deadlines. A deadline is a timer that is cancelled nearly always. To start a cancelled timer again takes a fraction of
// the time of a new timer, so one is kept.

import type { TimerClock } from '../core/clock.ts'
import { LONGEST_TIMER_MS, systemClock } from './system-clock.ts'

/** A timer of Node or Bun. In other runtimes a timer is a number, and cannot be started again. */
interface Restartable {
  refresh(): unknown
  ref(): unknown
  unref(): unknown
}

interface Timer {
  readonly id: ReturnType<typeof setTimeout>
  readonly delayMs: number
  /** False if a test runner's setTimeout started it. Such a timer never ends after the runner has put the system's back. */
  readonly isOwn: boolean
  callback: () => void
}

/** Test runners replace setTimeout. Their timers are not kept. */
const OWN_SET_TIMEOUT = globalThis.setTimeout

/** A timer that was cancelled. It goes on, but calls nothing, and does not keep the process alive. */
let kept: Timer | undefined

const nothing = (): void => {}

/** Returns the same clock. If it has the system's timers, a cancelled one is kept. */
export function withKeptTimer(clock: TimerClock): TimerClock {
  return clock.after === systemClock.after ? { now: clock.now, after } : clock
}

function after(delayMs: number, callback: () => void): () => void {
  if (delayMs > LONGEST_TIMER_MS) return systemClock.after(delayMs, callback)
  const timer = startKept(delayMs) ?? start(delayMs)
  timer.callback = callback
  let isCancelled = false
  return () => {
    if (!isCancelled && timer.callback === callback) cancel(timer)
    isCancelled = true
  }
}

function start(delayMs: number): Timer {
  const onTime = (): void => {
    if (kept === timer) kept = undefined
    const { callback } = timer
    timer.callback = nothing
    callback()
  }
  const isOwn = setTimeout === OWN_SET_TIMEOUT
  const timer: Timer = { id: setTimeout(onTime, delayMs), delayMs, isOwn, callback: nothing }
  return timer
}

function startKept(delayMs: number): Timer | undefined {
  const timer = kept
  if (timer?.delayMs !== delayMs || setTimeout !== OWN_SET_TIMEOUT) return undefined
  kept = undefined
  const id = timer.id as unknown as Restartable
  id.refresh()
  id.ref()
  return timer
}

function cancel(timer: Timer): void {
  timer.callback = nothing
  const id = timer.id as unknown as Partial<Restartable>
  const isOwn = timer.isOwn && setTimeout === OWN_SET_TIMEOUT
  const canBeKept = isOwn && typeof id.refresh === 'function' && kept?.delayMs !== timer.delayMs
  if (!canBeKept) return clearTimeout(timer.id)
  if (kept !== undefined) clearTimeout(kept.id)
  kept = timer
  id.unref?.()
}
