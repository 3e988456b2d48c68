// The transaction engine: one transaction for the calls of a turn locks and reads rows, runs the definitions in this process, and
// writes the changes. A store adds the one function that talks to its database.
// Invariant: a call is answered after its transaction was committed, and runs in one transaction only.

import type { Call, Figures } from '../core/call.ts'
import type { Clock, TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { MakeGuard } from '../core/guard.ts'
import type { Rule } from '../core/rule.ts'
import type { Asker, Store, Tally } from '../core/store.ts'
import { storeGuard } from '../failure/store-health.ts'
import { CallQueue } from './call-queue.ts'
import { checkBounds } from './engine-bounds.ts'
import { orGiveUp } from './give-up.ts'
import { withKeptTimer } from './kept-timer.ts'
import { isLate, lateError, markMayCount, markUncounted } from './late-calls.ts'
import type { NamedCall } from './loaded-states.ts'
import { checkLongestName, LONGEST_NAME, plainName, rulePart, shortName } from './state-names.ts'
import { refuseAll, type SortError, sortedError, storeError } from './store-errors.ts'
import { storeTime } from './store-time.ts'
import { type Sweep, Sweeper } from './sweeper.ts'
import { checkedClock, systemClock } from './system-clock.ts'
import { Turn } from './turn.ts'
import { type Change, WorkingStates } from './working-states.ts'

/** Decides the calls of a transaction over the values that were read. Returns the rows to write. A pure function. */
export type Decide = (values: ReadonlyMap<string, Uint8Array>, nowMs: number) => readonly Change[]

export interface TransactionOptions {
  /**
   * Runs one transaction:
   * 1. Locks the rows with these names, in this order, also rows that do not exist yet.
   * 2. Reads the rows, and then the database's clock.
   * 3. Calls `decide` and writes the changes that it returns.
   * 4. Commits.
   *
   * Rejects if the transaction was not committed. May run all steps again after a deadlock.
   */
  transact(names: readonly string[], decide: Decide): Promise<void>
  /** Deletes rows that have ended, a bounded number at a time. Omitted if the database drops them by itself. */
  sweep?: Sweep
  /** Returns the number of rows. Omitted if the store cannot count them. */
  size?(): Promise<number>
  close?(): Promise<void>
  /**
   * Returns the kind of an error that `transact` rejected with. If it returns undefined, the engine looks for a code of Node or of
   * standard SQL. An error without such a code is `refused` if `decide` was not called or changed nothing, else `unknown`.
   */
  sortError?: SortError
  /** Times deadlines and waits in this process. Default: the system's clock. Rules use the database's own clock. */
  readonly clock?: Clock
  /** The most calls of one transaction. Default: 64. */
  readonly calls?: number
  /** The most rows that one transaction locks. A call with more rows runs alone. Default: 256. */
  readonly rows?: number
  /** The most transactions that run at once. Default: 4. */
  readonly transactions?: number
  /** The most calls that wait for a transaction. More calls are refused. Default: 10,000. */
  readonly waiting?: number
  /** Time after which the engine no longer waits for a transaction, in ms. Other calls may use its rows then. Default: 10,000. */
  readonly longestMs?: number
  /** The longest name of a row, in bytes. Default: 255. */
  readonly longestName?: number
}

const BOUNDS = { calls: 64, rows: 256, transactions: 4, waiting: 10_000, longestMs: 10_000 } as const

/** Makes an asynchronous store from a database with transactions. */
export function transactionStore(options: TransactionOptions): Store<'async'> {
  return new TransactionStore(options)
}

interface Pending extends NamedCall {
  readonly asker: Asker | undefined
  readonly resolve: (figures: Figures) => void
  readonly reject: (reason: SluiceError) => void
}

class TransactionStore implements Store<'async'> {
  readonly timing = 'async'
  readonly guard: MakeGuard<'async'>
  readonly clock: TimerClock
  readonly #options: TransactionOptions
  readonly #longestMs: number
  readonly #longestName: number
  readonly #queue: CallQueue<Pending>
  readonly #turn: Turn<Pending>
  readonly #sweeper: Sweeper

  constructor(options: TransactionOptions) {
    const { calls, rows, transactions: groups, waiting, longestMs } = checkBounds('transactionStore', options, BOUNDS)
    const { longestName = LONGEST_NAME } = options
    checkLongestName('transactionStore', longestName)
    this.clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
    this.guard = storeGuard(withKeptTimer(this.clock))
    this.#options = options
    this.#longestMs = longestMs
    this.#longestName = longestName
    this.#queue = new CallQueue({ calls, rows, groups, waiting, together: 'any' }, (group) => this.#transact(group))
    this.#turn = new Turn((gathered) => refuseAll(this.#queue.add(gathered)))
    this.#sweeper = new Sweeper(options.sweep?.bind(options))
  }

  tally(rules: readonly Rule[]): Tally<'async'> {
    const ends = rules.map(rulePart)
    return {
      ask: (call: Call, asker?: Asker) => {
        markUncounted(asker)
        const names = call.charges.map(({ rule, key }) => shortName(plainName(key) + ends[rule], this.#longestName))
        return new Promise((resolve, reject) => this.#turn.add({ call, rules, names, asker, resolve, reject }))
      },
    }
  }

  clean(): Promise<number> {
    return this.#sorted(() => this.#sweeper.all())
  }

  get size(): Promise<number> {
    return this.#sorted(async () => {
      if (this.#options.size !== undefined) return this.#options.size()
      throw storeError('fatal', 'this store has no size: its author gave no way to count rows')
    })
  }

  async close(): Promise<void> {
    this.#turn.flush()
    await this.#queue.idle()
    await this.#options.close?.()
  }

  async #transact(group: readonly Pending[]): Promise<void> {
    const names = [...new Set(group.flatMap((call) => call.names))].sort()
    let outcomes: readonly (Figures | SluiceError)[] | undefined
    let changed = 0
    let isOver = false
    const decide: Decide = (values, nowMs) => {
      // The engine has given up, and its callers have an error. This error makes `transact` roll back.
      if (isOver) throw storeError('refused', 'the transaction came too late')
      const states = new WorkingStates(values)
      const time = storeTime(nowMs)
      outcomes = group.map((call) => runUnlessLate(call, states, time))
      const changes = states.changes()
      changed = changes.length
      return changes
    }
    try {
      await orGiveUp({
        ask: () => this.#options.transact(names, decide),
        clock: this.clock,
        longestMs: this.#longestMs,
        makeError: () => {
          isOver = true
          return new Error(`the transaction did not end within ${this.#longestMs} ms`)
        },
      })
      if (outcomes === undefined) throw storeError('fatal', 'transact resolved, and did not call decide')
      for (const [i, call] of group.entries()) settle(call, outcomes[i])
      this.#sweeper.wrote(changed)
    } catch (error) {
      // Invariant: without changes, or before they were known, nothing can have been counted.
      const reason = sortedError(error, this.#options.sortError, changed === 0 ? 'refused' : 'unknown')
      for (const { reject } of group) reject(reason)
    }
  }

  async #sorted<V>(ask: () => Promise<V>): Promise<V> {
    try {
      return await ask()
    } catch (error) {
      throw sortedError(error, this.#options.sortError, 'unknown')
    }
  }
}

/** Runs a call. The caller may have left while the database waited for locks: then the call changes nothing. */
function runUnlessLate(call: Pending, states: WorkingStates, nowMs: number): Figures | SluiceError {
  if (isLate(call.asker)) return lateError()
  markMayCount(call.asker)
  return states.run(call, nowMs)
}

function settle({ resolve, reject }: Pending, outcome: Figures | SluiceError): void {
  if (outcome instanceof SluiceError) reject(outcome)
  else resolve(outcome)
}
