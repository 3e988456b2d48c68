// A store on the transaction engine: a database with rows, a lock for each row, and a clock.

import { transactionStore } from '../../src/engines/index.ts'
import type { Clock, Store } from '../../src/index.ts'

export class ToyDatabase {
  readonly clock: Clock
  readonly rows = new Map<string, { readonly value: Uint8Array; readonly endsAt: number }>()
  readonly #lastHolder = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Locks rows, also such that do not exist, in the given order. Resolves to a function that unlocks them. */
  async lock(names: readonly string[]): Promise<() => void> {
    const unlocks: (() => void)[] = []
    for (const name of names) {
      const before = this.#lastHolder.get(name)
      this.#lastHolder.set(name, new Promise<void>((resolve) => unlocks.push(resolve)))
      await before
    }
    return () => {
      for (const unlock of unlocks) unlock()
    }
  }
}

export function toyTransactionStore(database: ToyDatabase): Store<'async'> {
  const { clock, rows } = database
  return transactionStore({
    clock,
    async transact(names, decide) {
      const unlock = await database.lock(names)
      try {
        const values = new Map<string, Uint8Array>()
        for (const name of names) {
          const row = rows.get(name)
          if (row !== undefined) values.set(name, row.value)
        }
        for (const { name, value, endsAt } of decide(values, clock.now())) {
          if (value === undefined) rows.delete(name)
          else rows.set(name, { value, endsAt })
        }
      } finally {
        unlock()
      }
    },
    async sweep({ rows: most, endedForMs }) {
      const ended = [...rows].filter(([, { endsAt }]) => endsAt <= clock.now() - endedForMs).slice(0, most)
      for (const [name] of ended) rows.delete(name)
      return ended.length
    },
    size: async () => rows.size,
  })
}
