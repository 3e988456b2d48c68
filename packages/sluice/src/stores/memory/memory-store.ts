// The memory store: the states of all keys, in typed arrays of this process. It is synchronous and bounded. When it is full, it
// evicts states that have used little of their limit first.

import type { Clock, TimerClock } from '../../core/clock.ts'
import { mustBe } from '../../core/errors.ts'
import { checkNumber, checkOptions } from '../../core/options.ts'
import { type Rule, stateName } from '../../core/rule.ts'
import { LOG_ROW_WIDTH, type LogArena, type LogHost, type RowLogs } from '../../core/rule-log.ts'
import type { Store } from '../../core/store.ts'
import { timersEndWithRequests } from '../../engines/runtime-timers.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import { ByteBudget } from './byte-budget.ts'
import { Eviction } from './eviction.ts'
import type { StoreHolds } from './held-rows.ts'
import { KeyHash } from './key-hash.ts'
import { MemoryTally } from './memory-tally.ts'
import { PlainTally } from './plain-tally.ts'
import { Table } from './table.ts'
import type { ChooseVictims } from './victims.ts'

export interface MemoryStoreOptions {
  /** Any object with `now()`. Default: the system's clock. */
  readonly clock?: Clock
  /** The most states, one for each rule and key. Default: 1,000,000. */
  readonly maxKeys?: number
  /** The most bytes of its tables and logs. Default: 384 for each of `maxKeys`, and at least 64 MiB. */
  readonly maxBytes?: number
}

export interface MemoryStore extends Store<'sync'> {
  /** Bytes of its tables and logs. */
  readonly bytes: number
  /** Number of states that were evicted before they had ended, because of `maxKeys` or `maxBytes`. */
  readonly evictions: number
}

const OPTIONS = ['clock', 'maxKeys', 'maxBytes'] as const

const DEFAULT_MAX_KEYS = 1_000_000

/** The most rows. One typed array can hold them with space to spare. */
const MOST_KEYS = 50_000_000

/** Enough for tables of three widths, each with `maxKeys` rows at some time. */
const DEFAULT_BYTES_A_KEY = 384
const LEAST_DEFAULT_BYTES = 2 ** 26

const LEAST_BYTES = 2 ** 22
const MOST_BYTES = 2 ** 40

/** Every second a sixtieth of the rows is swept, so expired rows are gone after a minute; in very large tables, later. */
const SWEEP_EVERY_MS = 1000
const SWEEP_SHARE = 1 / 60
const MOST_SWEPT = 2 ** 16

/** In runtimes without a background, each new key sweeps so many rows. So all rows are swept before a table has grown. */
const SWEPT_A_KEY = 8

/** Number of searches for one more state. A search in a nearly empty table may find nothing. */
const SEARCHES_A_STATE = 2

/** Seed for rules. It need not be secret: without the seed of the keys, nobody can construct collisions. */
const RULES_SEED = Int32Array.of(0x5a17, 0x1ce)

/** Makes a store in the memory of this process, bounded by `maxKeys` and `maxBytes`. The keys themselves are not kept. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, OPTIONS)
  const { clock, maxKeys = DEFAULT_MAX_KEYS } = options
  checkNumber('maxKeys', maxKeys, 1, MOST_KEYS)
  const { maxBytes = Math.max(LEAST_DEFAULT_BYTES, DEFAULT_BYTES_A_KEY * maxKeys) } = options
  checkNumber('maxBytes', maxBytes, LEAST_BYTES, MOST_BYTES)
  return new MemoryState(clock === undefined ? systemClock : checkedClock(clock), maxKeys, maxBytes)
}

export class MemoryState implements MemoryStore, LogHost {
  readonly timing = 'sync'
  readonly clock: TimerClock
  readonly keyHash = new KeyHash()
  /** Hashes rules. It has another seed than `keyHash`, so that no key can have the fingerprint of a rule. */
  readonly #ruleHash = new KeyHash()
  readonly maxKeys: number
  readonly budget: ByteBudget
  readonly #eviction: Eviction
  /** One table for each width of a row, and one for logs. */
  readonly tables: Table[] = []
  logs: RowLogs | undefined
  /** Set by the first limiter that reserves. */
  holds: StoreHolds | undefined
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
      throw mustBe('ERR_OPTION', 'maxKeys', `at least ${rules.length}, for the rules of one key`, this.maxKeys)
    }
    const isPlain = rules.length === 1 && rules[0].log === undefined
    return isPlain ? new PlainTally(this, rules) : new MemoryTally(this, rules)
  }

  clean(): number {
    const nowMs = this.clock.now()
    const before = this.size
    for (const table of this.tables) {
      table.finishMove(nowMs)
      table.sweep(nowMs, 1, Number.POSITIVE_INFINITY)
    }
    return before - this.size
  }

  get size(): number {
    let size = 0
    for (const table of this.tables) size += table.count
    return size
  }

  get bytes(): number {
    let bytes = this.logs?.arena.bytes ?? 0
    for (const table of this.tables) bytes += table.bytes
    return bytes
  }

  get evictions(): number {
    return this.#eviction.evictions
  }

  /** Claims a row of a table for a fingerprint that has none. Returns its index in `rowsFor(hi)`. */
  claim(table: Table, lo: number, hi: number): number {
    const { size } = this
    for (const each of this.tables) each.epochs.countClaim(each.count, size, each === table)
    return table.claim(lo, hi, table.epochs.present)
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Sets a random seed for the keys. This happens at the first call, because some runtimes have no random numbers before it. */
  seedKeys(): void {
    if (this.keyHash.seed === undefined) this.keyHash.setSeed()
  }

  /** Returns the fingerprint of a rule. It is combined with every key's fingerprint, so that no two rules share a row. */
  fingerprint(rule: Rule): { readonly lo: number; readonly hi: number } {
    return { hi: this.#ruleHash.hash(stateName(rule)), lo: this.#ruleHash.lo }
  }

  tableFor(rule: Rule): Table {
    return rule.log === undefined ? this.table(rule.width) : this.logTable
  }

  /** Makes space for more states in a table. Expired rows go first, then the rows that have used the least. */
  makeSpace(table: Table, states: number, nowMs: number): void {
    for (let left = SEARCHES_A_STATE * states; left > 0; left--) {
      // A table that cannot grow any more evicts rows of its own.
      if (!table.hasSpace(states)) this.#eviction.makeSpace([table], nowMs)
      else if (this.size + states > this.maxKeys) this.#eviction.makeSpace(this.tables, nowMs)
      else return
      for (const each of this.tables) each.tend(nowMs)
    }
  }

  get logTable(): Table {
    return this.table(LOG_ROW_WIDTH, this.logs?.arena)
  }

  evictLogs(nowMs: number, choose: ChooseVictims, isLight: boolean): void {
    this.#eviction.makeSpace([this.logTable], nowMs, choose, isLight)
  }

  /** Returns the logs. The first rule that keeps logs opens them. */
  openLogs(open: (host: LogHost) => RowLogs): RowLogs {
    this.logs ??= open(this)
    return this.logs
  }

  table(width: number, logs?: LogArena): Table {
    let table = this.tables.find((each) => each.width === width && each.logs === logs)
    if (table === undefined) {
      table = new Table(this, width, logs)
      this.tables.push(table)
    }
    return table
  }

  /**
   * Called before each new key. Starts the store's only timer, at the first key and again after all keys have gone. It does not
   * keep the process alive. In runtimes without a background, each new key sweeps a few rows instead.
   */
  keepSwept(nowMs: number): void {
    if (this.#sweeper !== undefined || this.#closed) return
    if (timersEndWithRequests()) {
      for (const table of this.tables) table.sweep(nowMs, 1, SWEPT_A_KEY)
      return
    }
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS)
    this.#sweeper.unref?.()
  }

  #sweep(): void {
    let nowMs: number
    try {
      nowMs = this.clock.now()
    } catch {
      // A broken clock is an error of the next hit. A timer has no caller that could handle it.
      return
    }
    for (const table of this.tables) table.sweep(nowMs, SWEEP_SHARE, MOST_SWEPT)
    if (this.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}
