// A bound for what a store's client may take: a promise that never settles must not hold a key for ever.

import type { TimerClock } from '../core/clock.ts'

/** Settles as the promise does, or rejects with `makeError()` after `longestMs`. A client that throws is one that rejects. */
export function orGiveUp<V>(ask: () => Promise<V>, clock: TimerClock, longestMs: number, makeError: () => Error): Promise<V> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(longestMs, () => reject(makeError()))
    const asked = async (): Promise<V> => ask()
    asked().finally(cancel).then(resolve, reject)
  })
}
