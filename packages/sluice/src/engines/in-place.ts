// The in-place engine: for stores that answer at once. The definitions run in this process. With `transact`, it serves synchronous
// databases too.

import type { Figures } from '../core/call.ts'
import type { Clock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import type { Store, Tally } from '../core/store.ts'
import { syncStoreGuard } from '../failure/store-health.ts'
import { type Cells, decide, type LoadedChange, LoadedStates, type WriteFacts } from './loaded-states.ts'
import { checkLongestName, LONGEST_NAME, plainName, rulePart, shortName } from './state-names.ts'
import { type SortError, sortedError } from './store-errors.ts'
import { checkedClock, systemClock } from './system-clock.ts'

export interface InPlaceOptions {
  /** Returns the cells of a state; undefined if there is none. The engine changes a copy. `decodeCells` makes cells of bytes. */
  read(name: string): Cells
  /**
   * Stores the cells of a state; deletes the state without cells. The array belongs to the store from now on. The state ends at
   * `cells[0]`. A `write` that throws must have changed nothing. Without `transact` the engine then undoes the earlier writes of
   * the call.
   */
  write(name: string, cells: Cells, facts: WriteFacts): void
  /** Drops states that have ended at `nowMs`. Returns the number of dropped states. It is called outside of `transact`. */
  clean(nowMs: number): number
  /** Number of states. It is called outside of `transact`. */
  size(): number
  close?(): void
  /**
   * Begins a transaction that excludes other processes, calls `body`, commits, and returns the result of `body`. Rolls back if
   * `body` throws. `body` reads and writes states. It may be called again after a rollback. Default: only calls `body`, for a store
   * that no other process uses.
   */
  transact?<V>(body: () => V): V
  /** Sorts an error of the store. Limiters then have a breaker and a fallback. Default: the error is thrown as it is. */
  sortError?: SortError
  /** The store's clock. Default: the system's. */
  readonly clock?: Clock
  /** The longest name of a state, in bytes. Default: 255. */
  readonly longestName?: number
}

/** Makes a synchronous store from functions that read and write states. */
export function inPlaceStore(options: InPlaceOptions): Store<'sync'> {
  const { longestName = LONGEST_NAME } = options
  checkLongestName('inPlaceStore', longestName)
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
  const transact = <V>(body: () => V): V => (options.transact === undefined ? body() : options.transact(body))
  const sorted = <V>(ask: () => V): V => {
    const { sortError } = options
    try {
      return ask()
    } catch (error) {
      throw sortError === undefined ? error : sortedError(error, sortError, 'unknown')
    }
  }
  return {
    timing: 'sync',
    clock,
    ...(options.sortError !== undefined && { guard: syncStoreGuard(clock) }),
    tally: (rules) => tallyOf(rules),
    clean: () => sorted(() => options.clean(clock.now())),
    get size() {
      return sorted(() => options.size())
    },
    close: () => options.close?.(),
  }

  function tallyOf(rules: readonly Rule[]): Tally<'sync'> {
    const ends = rules.map(rulePart)
    const read = (name: string): Cells => options.read(name)
    return {
      ask: (call) => {
        const names = call.charges.map(({ rule, key }) => shortName(plainName(key) + ends[rule], longestName))
        const run = (): Figures => {
          const states = new LoadedStates({ call, rules, names }, read)
          // The states are read before the clock, which then is not behind the clock of another process that has changed them. A
          // reset reads no states, because they may be damaged.
          if (call.operation !== 'reset') states.loadAll()
          const figures = decide(call, states, clock.now())
          writeAll(states.changes, options)
          return figures
        }
        return sorted(() => transact(run))
      },
    }
  }
}

/** Writes all changes of a call or none. A store with `transact` rolls back by itself. */
function writeAll(changes: readonly LoadedChange[], options: InPlaceOptions): void {
  const undos: (() => void)[] = []
  const isUndone = options.transact === undefined && changes.length > 1
  for (const change of changes) {
    const undo = isUndone ? undoOf(change, options) : undefined
    try {
      options.write(change.name, change.cells, change)
    } catch (error) {
      undoAll(undos, error)
      throw error
    }
    if (undo !== undefined) undos.push(undo)
  }
}

/** Returns a function that takes a change back. Called before the change is written. */
function undoOf({ name, cells, kept }: LoadedChange, options: InPlaceOptions): () => void {
  try {
    const isReset = cells === undefined && kept === undefined
    // The cells that were read may be the store's own memory, which `write` changes.
    const before = (isReset ? options.read(name) : kept)?.slice()
    // The share is not known any more. A store that evicts by it keeps the state.
    const facts = { isNew: cells === undefined && before !== undefined, share: before === undefined ? 0 : 1 }
    return () => options.write(name, before, facts)
  } catch (error) {
    // A reset drops a damaged state, which cannot be read.
    return () => {
      throw error
    }
  }
}

/** Takes back as many changes as possible. Throws if one is left. */
function undoAll(undos: readonly (() => void)[], cause: unknown): void {
  let isLeft = false
  for (const undo of undos) {
    try {
      undo()
    } catch {
      isLeft = true
    }
  }
  if (!isLeft) return
  const message = 'a write failed, and an earlier write of the call could not be undone: a part of it may have counted'
  throw new SluiceError('ERR_STORE_UNKNOWN', message, { cause })
}
