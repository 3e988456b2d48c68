// A store on the compare-and-swap engine: a Map behind promises whose records have versions.

import { type Change, compareAndSwapStore, type Versioned } from '../../src/engines/index.ts'
import type { Clock, Store } from '../../src/index.ts'

export class VersionedMap {
  readonly records = new Map<string, Versioned<number> & { readonly endsAt: number }>()
  #version = 0

  async read(name: string): Promise<Versioned<number> | undefined> {
    return this.records.get(name)
  }

  async swap({ name, value, endsAt }: Change, version: number | undefined): Promise<boolean> {
    if (this.records.get(name)?.version !== version) return false
    if (value === undefined) this.records.delete(name)
    else this.records.set(name, { value, endsAt, version: ++this.#version })
    return true
  }
}

export function toyCompareAndSwapStore(map: VersionedMap, clock: Clock): Store<'async'> {
  return compareAndSwapStore({
    clock,
    read: (name) => map.read(name),
    swap: (change, version) => map.swap(change, version),
    now: () => clock.now(),
    async clean() {
      const ended = [...map.records].filter(([, { endsAt }]) => endsAt <= clock.now())
      for (const [name] of ended) map.records.delete(name)
      return ended.length
    },
    size: async () => map.records.size,
  })
}
