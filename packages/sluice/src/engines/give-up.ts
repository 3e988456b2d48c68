// Bounds the time of a store's client: a promise that never settles must not block a key for ever.

import type { TimerClock } from '../core/clock.ts'

export interface Bounded<V> {
  ask(): Promise<V>
  readonly clock: TimerClock
  readonly longestMs: number
  makeError(): Error
}

/** Settles as `ask()` does, or rejects with `makeError()` after `longestMs`. If `ask` throws, it rejects too. */
export function orGiveUp<V>({ ask, clock, longestMs, makeError }: Bounded<V>): Promise<V> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(longestMs, () => reject(makeError()))
    const asked = async (): Promise<V> => ask()
    asked().finally(cancel).then(resolve, reject)
  })
}
