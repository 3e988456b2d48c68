// The compare-and-swap engine: a record is read with its version, the definitions run in this process, and the record is written
// if its version is unchanged. One record holds the states of all rules of one key.

import type { Figures } from '../core/call.ts'
import type { Clock, TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { MakeGuard } from '../core/guard.ts'
import { type Rule, stateName } from '../core/rule.ts'
import type { Store, Tally } from '../core/store.ts'
import { storeGuard } from '../failure/store-health.ts'
import { CallQueue } from './call-queue.ts'
import { checkBounds } from './engine-bounds.ts'
import { withKeptTimer } from './kept-timer.ts'
import { markUncounted } from './late-calls.ts'
import { type RecordCall, recordCall } from './records/record-call.ts'
import { type GroupOutcome, RecordGroup } from './records/record-group.ts'
import { RecordServers } from './records/record-servers.ts'
import { tooManyOthers, type Versioned, VersionedRecords } from './records/versioned-records.ts'
import { checkLongestName, LONGEST_NAME, plainName } from './state-names.ts'
import { refuseAll, type SortError, sortedError, storeError } from './store-errors.ts'
import { checkedClock, systemClock } from './system-clock.ts'
import { Turn } from './turn.ts'
import type { Change } from './working-states.ts'

export interface CompareAndSwapOptions<V> {
  /** Returns a record with its version; undefined if there is no such record. */
  read(name: string): Promise<Versioned<V> | undefined>
  /**
   * Writes a record, but only if its version is still `version`. If `version` is undefined, writes only if there is no such record.
   * Deletes the record if the change has no value. Resolves to true if it has written, else to false. The store may drop the record
   * at `change.endsAt`.
   */
  swap(change: Change, version: V | undefined): Promise<boolean>
  /**
   * Returns the store's time, in ms since the epoch. Called after a record was read. Processes that share a store need the same
   * time.
   */
  now(): number | Promise<number>
  /** Drops records that have ended. Returns their number. Omitted if the store drops them by itself. */
  clean?(): Promise<number>
  /** Returns the number of records. Omitted if the store cannot count them. */
  size?(): Promise<number>
  close?(): Promise<void>
  /**
   * Sorts an error of the store. If it returns undefined, codes of Node and of standard SQL decide. Without such a code, an error
   * of `read` is `refused`, and an error of `swap` is `unknown`.
   */
  sortError?: SortError
  /** Times deadlines and pauses in this process. Default: the system's. */
  readonly clock?: Clock
  /** The most attempts of one call. A call is refused if other writers change its records each time. Default: 10. */
  readonly attempts?: number
  /** The most calls that are decided together because they share records. Default: 64. */
  readonly calls?: number
  /** The most records of calls that are decided together. Default: 64. */
  readonly records?: number
  /** The most groups of calls that are decided at once. Default: 64. */
  readonly groups?: number
  /** The most calls that wait for others on their records. More calls are refused. Default: 10,000. */
  readonly waiting?: number
  /** Time after which the answer to a read or swap counts as lost, in ms. Default: 10,000. */
  readonly longestMs?: number
  /** The longest name of a record, in bytes. Default: 255. */
  readonly longestName?: number
  /** Returns the name of the server of a record. Servers fail independently. Default: the store is one server. */
  serverOf?(name: string): string
  /** Returns a number from 0 up to 1, which spreads the pauses between attempts. Default: `Math.random`. */
  random?(): number
}

const BOUNDS = { attempts: 10, calls: 64, records: 64, groups: 64, waiting: 10_000, longestMs: 10_000 } as const

/** Makes an asynchronous store from a backend that can write a record if its version is unchanged. */
export function compareAndSwapStore<V>(options: CompareAndSwapOptions<V>): Store<'async'> {
  return new CompareAndSwapStore(options)
}

interface Pending extends RecordCall {
  readonly names: readonly string[]
  /** Number of this attempt, from 1 on. */
  readonly attempt: number
  readonly resolve: (figures: Figures) => void
  readonly reject: (reason: unknown) => void
}

class CompareAndSwapStore<V> implements Store<'async'> {
  readonly timing = 'async'
  readonly guard: MakeGuard
  readonly clock: TimerClock
  readonly #options: CompareAndSwapOptions<V>
  readonly #longestName: number
  /** Undefined if the store is one server. */
  readonly #servers: RecordServers | undefined
  readonly #records: VersionedRecords<V>
  readonly #queue: CallQueue<Pending>
  readonly #turn: Turn<Pending>

  constructor(options: CompareAndSwapOptions<V>) {
    const { attempts, calls, records, groups, waiting, longestMs } = checkBounds('compareAndSwapStore', options, BOUNDS)
    const { longestName = LONGEST_NAME, sortError } = options
    checkLongestName('compareAndSwapStore', longestName)
    this.clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
    this.guard = storeGuard(withKeptTimer(this.clock))
    this.#options = options
    this.#longestName = longestName
    const { serverOf } = options
    if (serverOf !== undefined) this.#servers = new RecordServers((name) => serverOf(name), longestName)
    this.#records = new VersionedRecords<V>({
      read: (name) => options.read(name),
      swap: (change, version) => options.swap(change, version),
      now: () => options.now(),
      random: () => (options.random === undefined ? Math.random() : options.random()),
      sortError,
      clock: this.clock,
      attempts,
      longestMs,
    })
    this.#queue = new CallQueue({ calls, rows: records, groups, waiting, together: 'connected' }, (group) => this.#decide(group))
    this.#turn = new Turn((gathered) => refuseAll(this.#queue.add(gathered)))
  }

  tally(rules: readonly Rule[]): Tally<'async'> {
    const states = rules.map((rule) => plainName(stateName(rule)))
    const spared = new Set(states)
    const servers = this.#servers
    return {
      ask: (call, asker) => {
        markUncounted(asker)
        const { parts } = recordCall(call, rules, { states, spared, longestName: this.#longestName })
        const names = parts.map(({ record }) => record)
        const noted = servers?.noted(call, names)
        // Calls that follow each other without others under way need not wait for the end of the turn.
        if (this.#queue.isIdle) queueMicrotask(() => this.#turn.flush())
        return new Promise((resolve, reject) =>
          this.#turn.add({ call, rules, parts, spared, noted, asker, names, attempt: 1, resolve, reject }),
        )
      },
      ...(servers !== undefined && {
        partsOf: (call) => servers.partsOf(call),
        outcomesOf: (call) => servers.outcomesOf(call),
      }),
    }
  }

  clean(): Promise<number> {
    return this.#sorted(async () => this.#options.clean?.() ?? 0)
  }

  get size(): Promise<number> {
    return this.#sorted(async () => {
      if (this.#options.size !== undefined) return this.#options.size()
      throw storeError('fatal', 'this store has no size: its author gave no way to count records')
    })
  }

  async close(): Promise<void> {
    this.#turn.flush()
    await this.#queue.idle()
    await this.#options.close?.()
  }

  async #decide(group: readonly Pending[]): Promise<void> {
    try {
      const outcomes = await new RecordGroup(this.#records, group).decide()
      const again = group.filter((call, i) => settle(call, outcomes[i]))
      if (again.length > 0) await this.#decideAgain(again)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  /** Queues calls again because other writers have changed their records. Refuses calls that have had all attempts. */
  async #decideAgain(calls: readonly Pending[]): Promise<void> {
    const { attempts } = this.#records
    await this.#records.pause(Math.max(...calls.map(({ attempt }) => attempt)))
    for (const call of calls) {
      if (call.attempt < attempts) refuseAll(this.#queue.add([{ ...call, attempt: call.attempt + 1 }]))
      else call.reject(tooManyOthers(attempts))
    }
  }

  async #sorted<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      throw sortedError(error, this.#options.sortError, 'unknown')
    }
  }
}

/** Settles a call, unless its outcome is `again`. Returns true in that case. */
function settle({ resolve, reject }: Pending, outcome: GroupOutcome): boolean {
  if (outcome === 'again') return true
  if (outcome instanceof SluiceError) reject(outcome)
  else resolve(outcome)
  return false
}
