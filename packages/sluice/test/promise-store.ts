// The definition store with promises instead of values, like a store outside of the process.

import type { TimerClock } from '../src/core/clock.ts'
import type { Store } from '../src/core/store.ts'
import { storeGuard } from '../src/failure/store-health.ts'
import { definitionStore } from '../src/testing/definition-store.ts'

export function promiseStore(clock: TimerClock): Store<'async'> {
  const inner = definitionStore(clock)
  return {
    timing: 'async',
    clock,
    guard: storeGuard(clock),
    tally(rules) {
      const tally = inner.tally(rules)
      return { ask: async (call) => tally.ask(call) }
    },
    clean: async () => inner.clean(),
    get size() {
      return Promise.resolve(inner.size)
    },
    close: async () => {},
  }
}
