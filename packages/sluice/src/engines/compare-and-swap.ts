// The compare-and-swap engine: a record is read with a version, the definitions run here, and it is written if nobody else has
// written it meanwhile. One record holds the states of all rules of one key.

import type { Call, Figures } from '../core/call.ts'
import type { Clock } from '../core/clock.ts'
import { type Rule, stateName } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { guard } from '../failure/guarded-tally.ts'
import { checkBounds } from './engine-bounds.ts'
import { runCall } from './loaded-states.ts'
import { RecordLines, type Versioned } from './record-lines.ts'
import { askSeveral, type Part } from './several-records.ts'
import { checkLongestName, LONGEST_NAME, nameOfKey, plainName } from './state-names.ts'
import { type SortError, sortedError, storeError } from './store-errors.ts'
import { checkedClock, systemClock } from './system-clock.ts'
import type { Change } from './working-states.ts'

export interface CompareAndSwapOptions<V> {
  /** The record of a name with its version; undefined if there is none. */
  read(name: string): Promise<Versioned<V> | undefined>
  /**
   * Writes the record, or deletes it if it has no value, if its version is still this one; undefined: if there is none. Resolves to
   * false if it was not written. The record may be dropped at `change.endsAt`.
   */
  swap(change: Change, version: V | undefined): Promise<boolean>
  /** The store's time, in ms since the epoch. Asked after a record was read. Processes that share a store need the same time. */
  now(): number | Promise<number>
  /** Drops records that have ended; returns how many. Without it the store drops them by itself. */
  clean?(): Promise<number>
  /** Number of records. Without it the store has no size. */
  size?(): Promise<number>
  close?(): Promise<void>
  /**
   * Sorts an error of the store. Where it returns undefined, codes of Node and of standard SQL decide; then an error of `read` is
   * refused, and one of `swap` unknown.
   */
  sortError?: SortError
  /** Times deadlines and pauses in this process. Default: the system's. */
  readonly clock?: Clock
  /** Reads of a record for one call, before it is refused because others write it all the time. Default: 10. */
  readonly attempts?: number
  /** Most calls of one swap. Default: 64. */
  readonly calls?: number
  /** After so long the answer to a read or swap counts as lost. Default: 10,000. */
  readonly longestMs?: number
  /** The longest name of a record, in bytes. Default: 255. */
  readonly longestName?: number
  /** A number from 0 up to 1 that spreads the pauses between attempts. Default: `Math.random`. */
  random?(): number
}

const BOUNDS = { attempts: 10, calls: 64, longestMs: 10_000 } as const

/** An asynchronous store from anything that can write a record if it is unchanged. */
export function compareAndSwapStore<V>(options: CompareAndSwapOptions<V>): Store<'async'> {
  const { attempts, calls, longestMs } = checkBounds('compareAndSwapStore', options, BOUNDS)
  const { longestName = LONGEST_NAME, sortError } = options
  checkLongestName('compareAndSwapStore', longestName)
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
  const lines = new RecordLines<V>({
    read: (name) => options.read(name),
    swap: (change, version) => options.swap(change, version),
    now: () => options.now(),
    random: () => (options.random === undefined ? Math.random() : options.random()),
    sortError,
    clock,
    attempts,
    calls,
    longestMs,
  })
  const sorted = async <T>(ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask()
    } catch (error) {
      throw sortedError(error, sortError, 'unknown')
    }
  }
  return {
    timing: 'async',
    clock,
    guard,
    tally(rules) {
      const states = rules.map((rule) => plainName(stateName(rule)))
      return { ask: (call) => ask(call, rules, states) }
    },
    clean: () => sorted(async () => options.clean?.() ?? 0),
    get size() {
      return sorted(async () => {
        if (options.size !== undefined) return options.size()
        throw storeError('fatal', 'this store has no size: its author gave no way to count records')
      })
    },
    async close() {
      await lines.idle()
      await options.close?.()
    },
  }

  function ask(call: Call, rules: readonly Rule[], states: readonly string[]): Promise<Figures> {
    const parts = partsOf(call, rules, states)
    if (parts.length > 1) return askSeveral({ call, parts, spared: states, lines: lines as RecordLines<unknown>, attempts })
    const [part] = parts
    return lines.join(part.record, states, (record, nowMs) => {
      const { figures, changes } = runCall(part, (name) => record.read(name), nowMs)
      record.apply(changes)
      return figures
    })
  }

  /** The parts of a call by record, sorted by its name. */
  function partsOf({ operation, charges }: Call, rules: readonly Rule[], states: readonly string[]): readonly Part[] {
    const byRecord = new Map<string, number[]>()
    for (const [place, { key }] of charges.entries()) {
      const record = nameOfKey(key, longestName)
      const places = byRecord.get(record)
      if (places === undefined) byRecord.set(record, [place])
      else places.push(place)
    }
    const parts = [...byRecord].map(([record, places]): Part => {
      const own = places.map((place) => charges[place])
      return { record, places, rules, call: { operation, charges: own }, names: own.map(({ rule }) => states[rule]) }
    })
    return parts.sort((a, b) => (a.record < b.record ? -1 : 1))
  }
}
