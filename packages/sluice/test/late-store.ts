// A store whose answers take time on the way: calls reach it after one delay, and answers come back after another.

import { FIGURES } from '../src/core/call.ts'
import type { Store } from '../src/core/store.ts'
import { storeGuard } from '../src/failure/store-health.ts'
import { definitionStore } from '../src/testing/definition-store.ts'
import type { FakeClock } from '../src/testing/fake-clock.ts'

export interface LateStore extends Store<'async'> {
  /** Units that hits have spent so far, over all keys. */
  readonly spent: number
  /** Hits that have reached it so far. */
  readonly hits: number
}

/** `delayMs` says how long the next call is under way, first on its way there and then on its way back. */
export function lateStore(clock: FakeClock, delayMs: () => number): LateStore {
  const inner = definitionStore(clock)
  const counts = { spent: 0, hits: 0 }
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))
  const late = async <T>(answer: () => T): Promise<T> => {
    await pause(delayMs())
    const answered = answer()
    await pause(delayMs())
    return answered
  }
  return {
    timing: 'async',
    clock,
    get spent() {
      return counts.spent
    },
    get hits() {
      return counts.hits
    },
    guard: storeGuard(clock),
    tally(rules) {
      const tally = inner.tally(rules)
      return {
        ask: (call) =>
          late(() => {
            const figures = tally.ask(call)
            if (call.operation === 'hit') {
              counts.hits += 1
              if (figures.every((figure, i) => i % FIGURES !== 1 || figure === 0)) counts.spent += call.charges[0].amount
            }
            return figures
          }),
      }
    },
    clean: () => late(() => inner.clean()),
    get size() {
      return late(() => inner.size)
    },
    close: async () => {},
  }
}

/** Moves the clock a millisecond at a time, and lets promises settle after each. */
export async function passSlowly(clock: FakeClock, ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    await new Promise(setImmediate)
    clock.advance(1)
  }
  await new Promise(setImmediate)
}
