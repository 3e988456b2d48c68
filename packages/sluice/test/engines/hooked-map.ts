// A map with versions for tests of the compare-and-swap engine: it counts, and lets another process come in between.

import { type Change, type CompareAndSwapOptions, compareAndSwapStore } from '../../src/engines/index.ts'
import { fakeClock } from '../../src/testing/index.ts'

/** A map with versions. `beforeSwap` runs before each swap, as another process might. */
export function makeMap() {
  const clock = fakeClock()
  const records = new Map<string, { readonly value: Uint8Array; readonly version: number; readonly endsAt: number }>()
  const counts = { reads: 0, swaps: 0 }
  const hooks: { beforeSwap?: ((change: Change) => Promise<void> | void) | undefined } = {}
  let version = 0
  const options: CompareAndSwapOptions<number> = {
    clock,
    now: () => clock.now(),
    async read(name) {
      counts.reads += 1
      return records.get(name)
    },
    async swap(change, expected) {
      counts.swaps += 1
      await hooks.beforeSwap?.(change)
      const { name, value, endsAt } = change
      if (records.get(name)?.version !== expected) return false
      if (value === undefined) records.delete(name)
      else records.set(name, { value, endsAt, version: ++version })
      return true
    },
  }
  /** Makes a store of another process: without the hook. */
  const other = compareAndSwapStore<number>({
    ...options,
    async swap({ name, value, endsAt }, expected) {
      if (records.get(name)?.version !== expected) return false
      if (value === undefined) records.delete(name)
      else records.set(name, { value, endsAt, version: ++version })
      return true
    },
  })
  return { clock, records, counts, hooks, options, other, store: compareAndSwapStore(options) }
}
