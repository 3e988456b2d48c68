// The memory store: every key's state in typed arrays of this process. Answers at once; bounded; forgets nothing that limits somebody while it can.

import type { Clock, TimerClock } from '../../core/clock.ts'
import { mustBe, SluiceError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { type Rule, stateName } from '../../core/rule.ts'
import type { LogArena, LogOwner, LogRule, RuleLog } from '../../core/rule-log.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import { ByteBudget } from './byte-budget.ts'
import { Eviction } from './eviction.ts'
import { KeyHash } from './key-hash.ts'
import { MemoryTally } from './memory-tally.ts'
import { PlainTally } from './plain-tally.ts'
import { LOG_HANDLE, Table } from './table.ts'

export interface MemoryStoreOptions {
  /** The clock: anything with `now()`. Default: the system's. */
  readonly clock?: Clock
  /** The largest number of states, one for each rule and key. Default: 1,000,000. */
  readonly maxKeys?: number
  /** The most bytes that its tables and logs take. Default: 384 for each of `maxKeys`, and at least 64 MiB. */
  readonly maxBytes?: number
}

export interface MemoryStore extends Store<'sync'> {
  /** Bytes that its tables and logs take. */
  readonly bytes: number
  /** Number of states that gave way to others, at `maxKeys` or `maxBytes`, before they had ended. */
  readonly evictions: number
}

const OPTIONS = ['clock', 'maxKeys', 'maxBytes'] as const

const DEFAULT_MAX_KEYS = 1_000_000

/** The most rows that one typed array of them can hold with room to spare. */
const MOST_KEYS = 50_000_000

/** Enough for the tables of three widths of state, each with `maxKeys` rows in its time. */
const DEFAULT_BYTES_A_KEY = 384
const LEAST_DEFAULT_BYTES = 2 ** 26

const LEAST_BYTES = 2 ** 22
const MOST_BYTES = 2 ** 40

/** Every second a sixtieth of the rows is swept, so that what has expired is gone a minute later; of very large tables less. */
const SWEEP_EVERY_MS = 1000
const SWEEP_SHARE = 1 / 60
const MOST_SWEPT = 2 ** 16

/** Searches for one more state: one may find nothing in a table that is nearly empty. */
const SEARCHES_A_STATE = 2

/** Searches for the bytes of a new log, and of one that grows: that one can do without, and becomes coarser. */
const SEARCHES_A_LOG = 8
const SEARCHES_A_GROWTH = 1

/** Rules need no secret: nobody can aim at a row without the seed of the keys. */
const RULES_SEED = Int32Array.of(0x5a17, 0x1ce)

/** A row of a log: when the state ends, and the log's handle. */
export const LOG_ROW_WIDTH = 2

/** Keeps counts in this process. `maxKeys` bounds it; the keys themselves are not kept. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, OPTIONS)
  const { clock, maxKeys = DEFAULT_MAX_KEYS } = options
  if (clock !== undefined && typeof clock?.now !== 'function') {
    throw mustBe('ERR_OPTION', 'clock', 'an object with a now() method', clock)
  }
  checkNumber('maxKeys', maxKeys, 1, MOST_KEYS)
  const { maxBytes = Math.max(LEAST_DEFAULT_BYTES, DEFAULT_BYTES_A_KEY * maxKeys) } = options
  checkNumber('maxBytes', maxBytes, LEAST_BYTES, MOST_BYTES)
  return new MemoryState(clock === undefined ? systemClock : checkedClock(clock), maxKeys, maxBytes)
}

function checkNumber(name: string, value: unknown, least: number, most: number): void {
  if (isWhole(value, least, most)) return
  throw mustBe('ERR_OPTION', name, `a whole number from ${least} to ${most}`, value)
}

export class MemoryState implements MemoryStore {
  readonly timing = 'sync'
  readonly clock: TimerClock
  readonly keyHash = new KeyHash()
  /** Another hash than the keys', so that no key can stand for a rule. */
  readonly #ruleHash = new KeyHash()
  readonly maxKeys: number
  readonly budget: ByteBudget
  readonly #eviction: Eviction
  /** One table for each width of a row, and one for logs. */
  readonly tables: Table[] = []
  logs: LogArena | undefined
  #sweeper: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor(clock: TimerClock, maxKeys: number, maxBytes: number) {
    this.clock = clock
    this.maxKeys = maxKeys
    this.budget = new ByteBudget(maxBytes)
    this.#eviction = new Eviction(maxKeys)
    this.#ruleHash.setSeed(RULES_SEED)
  }

  tally(rules: readonly Rule[]): MemoryTally {
    if (rules.length > this.maxKeys) {
      throw new SluiceError('ERR_OPTION', `maxKeys of ${this.maxKeys} has no room for the ${rules.length} rules of one key`, {
        option: 'maxKeys',
        value: this.maxKeys,
      })
    }
    const isPlain = rules.length === 1 && rules[0].log === undefined
    return isPlain ? new PlainTally(this, rules) : new MemoryTally(this, rules)
  }

  clean(): number {
    const nowMs = this.clock.now()
    let dropped = 0
    for (const table of this.tables) dropped += table.clean(nowMs)
    return dropped
  }

  get size(): number {
    let size = 0
    for (const table of this.tables) size += table.count
    return size
  }

  get bytes(): number {
    let bytes = this.logs?.bytes ?? 0
    for (const table of this.tables) bytes += table.bytes
    return bytes
  }

  get evictions(): number {
    return this.#eviction.evictions
  }

  /** The epoch in which rows are claimed, for so many of them. */
  countClaims(states: number): number {
    this.#eviction.countClaims(states)
    return this.#eviction.epoch
  }

  /** Rows looked at so far by searches, sweeps and moves. */
  get rowsLookedAt(): number {
    let looked = 0
    for (const table of this.tables) looked += table.looked
    return looked
  }

  /** The longest run of taken rows: how far a look-up may have to go. */
  get longestRun(): number {
    return Math.max(0, ...this.tables.map((table) => table.longestRun))
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Takes a random seed for the keys: at the first call and not before, because some runtimes have random numbers only in a request. */
  seedKeys(): void {
    if (!this.keyHash.isSeeded) this.keyHash.setSeed()
  }

  /** The rule's own fingerprint, mixed into every key's: no two rules share a row. */
  fingerprint(rule: Rule): { readonly lo: number; readonly hi: number } {
    const hi = this.#ruleHash.hash(stateName(rule))
    return { lo: this.#ruleHash.lo, hi }
  }

  tableFor(rule: Rule): Table {
    return rule.log === undefined ? this.table(rule.width, false) : this.table(LOG_ROW_WIDTH, true)
  }

  /** Makes room for so many more states in a table: what has expired goes first, then the rows that have used the least. */
  makeRoom(table: Table, states: number, nowMs: number): void {
    this.#keepSwept()
    for (let left = SEARCHES_A_STATE * states; left > 0; left--) {
      // A table that may not grow any more gives up rows of its own.
      if (!table.hasRoom(states)) this.#eviction.makeRoom([table], nowMs)
      else if (this.size + states > this.maxKeys) this.#eviction.makeRoom(this.tables, nowMs)
      else return
      for (const each of this.tables) each.tend(nowMs)
    }
  }

  /** Makes room for the bytes of new logs. */
  makeLogRoom(bytes: number, nowMs: number): void {
    this.#makeBytes(bytes, nowMs, SEARCHES_A_LOG, false)
  }

  /** Makes room for a log to grow, as far as a few other logs can go that have not used all of their limit. */
  makeGrowthRoom(bytes: number, nowMs: number): void {
    this.#makeBytes(bytes, nowMs, SEARCHES_A_GROWTH, true)
  }

  #makeBytes(bytes: number, nowMs: number, searches: number, sparesFull: boolean): void {
    if (this.budget.hasLogBytes(bytes)) return
    const logs = this.tables.filter(({ holdsLogs }) => holdsLogs)
    for (let left = searches; left > 0 && !this.budget.hasLogBytes(bytes); left--) {
      this.#eviction.makeRoom(logs, nowMs, sparesFull)
    }
  }

  /** The place of all logs, which the first rule that keeps logs brings. */
  logsOf({ log }: LogRule): LogArena {
    return this.openLogs(log.makeArena)
  }

  openLogs(makeArena: RuleLog['makeArena']): LogArena {
    this.logs ??= makeArena(this.budget, (owner, handle) => this.#keepHandle(owner, handle))
    return this.logs
  }

  /** Lets the row of a log know that the log has another handle. */
  #keepHandle({ lo, hi }: LogOwner, handle: number): void {
    const rows = this.table(LOG_ROW_WIDTH, true).rowsFor(hi)
    rows.cells[rows.at(rows.find(lo, hi)) + LOG_HANDLE] = handle
  }

  table(width: number, isLog: boolean): Table {
    let table = this.tables.find((each) => each.width === width && each.holdsLogs === isLog)
    if (table === undefined) {
      table = new Table({ width, maxRows: this.maxKeys, budget: this.budget, logs: isLog ? this.logs : undefined })
      this.tables.push(table)
    }
    return table
  }

  /** Starts the one timer there is, at the first key and again after all keys have gone. It keeps no process alive. */
  #keepSwept(): void {
    if (this.#sweeper !== undefined || this.#closed) return
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS)
    this.#sweeper.unref?.()
  }

  #sweep(): void {
    let nowMs: number
    try {
      nowMs = this.clock.now()
    } catch {
      // A hit tells its caller of a broken clock; a timer has nobody to tell.
      return
    }
    for (const table of this.tables) table.sweep(nowMs, this.#eviction.epoch, SWEEP_SHARE, MOST_SWEPT)
    if (this.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}
