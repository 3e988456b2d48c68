// A store on the in-place engine: a Map.

import { inPlaceStore } from '../../src/engines/index.ts'
import type { Clock, Store } from '../../src/index.ts'

export function mapStore(clock: Clock): Store<'sync'> {
  const states = new Map<string, Float64Array>()
  return inPlaceStore({
    clock,
    read: (name) => states.get(name),
    write(name, cells) {
      if (cells === undefined) states.delete(name)
      else states.set(name, cells)
    },
    clean(nowMs) {
      const ended = [...states].filter(([, cells]) => cells[0] <= nowMs)
      for (const [name] of ended) states.delete(name)
      return ended.length
    },
    size: () => states.size,
  })
}
