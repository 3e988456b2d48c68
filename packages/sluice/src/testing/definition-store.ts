// The definition store: runs only the rules' definitions. It is slow and unbounded. Every other store is compared with it.

import type { TimerClock } from '../core/clock.ts'
import type { Store } from '../core/store.ts'
import { inPlaceStore } from '../engines/in-place.ts'

/** Makes a store that runs the definitions on plain arrays. For comparisons; never for production. */
export function definitionStore(clock: TimerClock): Store<'sync'> {
  const states = new Map<string, Float64Array>()
  return inPlaceStore({
    clock,
    read: (name) => states.get(name),
    write: (name, cells) => void (cells === undefined ? states.delete(name) : states.set(name, cells)),
    clean(nowMs) {
      const ended = [...states].filter(([, cells]) => cells[0] <= nowMs)
      for (const [name] of ended) states.delete(name)
      return ended.length
    },
    size: () => states.size,
  })
}
