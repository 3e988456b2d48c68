// A time limit for the promises of a store's client. A promise that never settles would block its keys for ever.

import type { TimerClock } from '../core/clock.ts'

export interface Bounded<V> {
  ask(): Promise<V>
  readonly clock: Pick<TimerClock, 'after'>
  readonly longestMs: number
  makeError(): Error
}

/** Calls `ask` and settles as its promise does. Rejects with `makeError()` after `longestMs`. Rejects also if `ask` throws. */
export function orGiveUp<V>({ ask, clock, longestMs, makeError }: Bounded<V>): Promise<V> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(longestMs, () => reject(makeError()))
    const fail = (error: unknown): void => {
      cancel()
      reject(error)
    }
    const answer = (value: V): void => {
      cancel()
      resolve(value)
    }
    try {
      Promise.resolve(ask()).then(answer, fail)
    } catch (error) {
      fail(error)
    }
  })
}
