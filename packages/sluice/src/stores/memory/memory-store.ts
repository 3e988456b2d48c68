// The memory store: every key's state in typed arrays of this process. Answers at once; bounded; forgets nothing that limits somebody while it can.

import type { Clock, TimerClock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { checkedClock, systemClock } from '../system-clock.ts'
import { type Dump, type DumpedState, readDump, type Seeds, writeDump } from './dump.ts'
import { KeyHash } from './key-hash.ts'
import { LogArena } from './log-arena.ts'
import { MemoryTally } from './memory-tally.ts'
import { PlainTally } from './plain-tally.ts'
import { Table } from './table.ts'

export interface MemoryStoreOptions {
  /** Where the time comes from: anything with `now()`. The system's clock unless given. */
  readonly clock?: Clock
  /** How many states, one for each rule and key, it holds at most. Default: 1,000,000. */
  readonly maxKeys?: number
  /** What `dump` of another store has made: the counts to start with. Throws ERR_DUMP if it is not whole. */
  readonly restore?: Uint8Array
}

export interface MemoryStore extends Store<'sync'> {
  /** All counts that have not ended, for `restore`. It holds the secret that keys are hashed with: keep it as you would a password. */
  dump(): Uint8Array
  /** How many states gave way to others, at `maxKeys`, before they had ended. */
  readonly evictions: number
}

const OPTIONS = ['clock', 'maxKeys', 'restore'] as const

const DEFAULT_MAX_KEYS = 1_000_000

/** The most rows that one typed array of them can hold with room to spare. */
const MOST_KEYS = 50_000_000

/** Every second a sixtieth of the rows is swept: what has expired is gone a minute later. */
const SWEEP_EVERY_MS = 1000
const SWEEP_SHARE = 1 / 60

/** Rules need no secret: nobody can aim at a place without the seed of the keys. */
const RULES_SEED = new Int32Array([0x5a17, 0x1ce])

/** A row of a log: when the state ends, and the log's handle. */
const LOG_ROW_WIDTH = 2

/** Keeps counts in this process. `maxKeys` bounds it; the keys themselves are not kept. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, OPTIONS)
  const { clock, maxKeys = DEFAULT_MAX_KEYS, restore } = options
  if (clock !== undefined && typeof clock?.now !== 'function') {
    throw new SluiceError('ERR_OPTION', `memoryStore needs clock to have a now() method, got ${show(clock)}`)
  }
  if (!isWhole(maxKeys, 1, MOST_KEYS)) {
    throw new SluiceError(
      'ERR_OPTION',
      `memoryStore needs maxKeys to be a whole number from 1 to ${MOST_KEYS}, got ${show(maxKeys)}`,
    )
  }
  const dump = restore === undefined ? undefined : readDump(restore)
  const room = new MemoryRoom(clock === undefined ? systemClock : checkedClock(clock), maxKeys, dump?.seeds)
  if (dump !== undefined) room.restore(dump)
  return room
}

export class MemoryRoom implements MemoryStore {
  readonly mode = 'sync'
  readonly clock: TimerClock
  readonly keyHash: KeyHash
  /** Another hash than the keys', so that no key can stand for a rule. */
  readonly #ruleHash: KeyHash
  readonly #maxKeys: number
  readonly #logs = new LogArena()
  /** One table for each width of a row. */
  readonly #tables = new Map<string, Table>()
  #sweeper: ReturnType<typeof setInterval> | undefined
  #closed = false
  #evictions = 0

  constructor(clock: TimerClock, maxKeys: number, seeds?: Seeds) {
    this.clock = clock
    this.#maxKeys = maxKeys
    this.keyHash = new KeyHash(seeds?.keys)
    this.#ruleHash = new KeyHash(seeds?.rules ?? RULES_SEED)
  }

  tally(rules: readonly Rule[]): MemoryTally {
    if (rules.length > this.#maxKeys) {
      throw new SluiceError('ERR_OPTION', `maxKeys of ${this.#maxKeys} has no room for the ${rules.length} rules of one key`)
    }
    const isPlain = rules.length === 1 && rules[0].log === undefined
    return isPlain ? new PlainTally(this, this.#logs, rules) : new MemoryTally(this, this.#logs, rules)
  }

  clean(): number {
    const nowMs = this.clock.now()
    let dropped = 0
    for (const table of this.#tables.values()) dropped += table.clean(nowMs)
    return dropped
  }

  get size(): number {
    let size = 0
    for (const table of this.#tables.values()) size += table.count
    return size
  }

  get evictions(): number {
    return this.#evictions
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  dump(): Uint8Array {
    const seeds = { keys: this.keyHash.seed, rules: this.#ruleHash.seed }
    return writeDump(seeds, this.#tables.values(), this.#logs, this.clock.now())
  }

  /** Starts with the states of a dump that have not ended; at the bound, with as many as there is room for. */
  restore({ states }: Dump): void {
    const nowMs = this.clock.now()
    const counts = new Map<Table, number>()
    for (const state of states) {
      if (state.cells[0] <= nowMs) continue
      const table = this.#tableOf(state)
      counts.set(table, (counts.get(table) ?? 0) + 1)
    }
    // A table is in the order of its fingerprints, so growing it on the way would pile them up at its beginning.
    for (const [table, count] of counts) table.reserve(count)
    for (const state of states) {
      const { lo, hi, cells, isLog } = state
      if (cells[0] <= nowMs) continue
      this.makeRoom(1, nowMs)
      const table = this.#tableOf(state)
      table.prepare(1)
      const row = table.claim(lo, hi)
      const rows = table.rowsFor(hi)
      rows.cells.set(isLog ? [cells[0], this.#logs.adopt(cells)] : cells, rows.at(row))
      rows.pressure[row] = state.pressure
    }
  }

  /** The rule's own fingerprint, mixed into every key's: no two rules share a row. */
  fingerprint(rule: Rule): { readonly lo: number; readonly hi: number } {
    const hi = this.#ruleHash.hash(`${rule.algorithm}\0${rule.name}`)
    return { lo: this.#ruleHash.lo, hi }
  }

  tableFor(rule: Rule): Table {
    return rule.log === undefined ? this.#table(rule.width, false) : this.#table(LOG_ROW_WIDTH, true)
  }

  hasRoom(states: number): boolean {
    return this.size + states <= this.#maxKeys
  }

  /** Makes room for so many more states: what has expired goes first, then what is under the least pressure. */
  makeRoom(states: number, nowMs: number): void {
    this.#keepSwept()
    while (!this.hasRoom(states)) {
      let dropped = 0
      let weakest: Table | undefined
      for (const table of this.#tables.values()) {
        dropped += table.look(nowMs)
        if (table.victim >= 0 && (weakest === undefined || table.victimPressure < weakest.victimPressure)) weakest = table
      }
      if (dropped > 0 || weakest === undefined) continue
      weakest.drop(weakest.rows, weakest.victim)
      this.#evictions += 1
    }
  }

  #tableOf({ isLog, cells }: DumpedState): Table {
    return this.#table(isLog ? LOG_ROW_WIDTH : cells.length, isLog)
  }

  #table(width: number, isLog: boolean): Table {
    const kind = isLog ? 'log' : String(width)
    let table = this.#tables.get(kind)
    if (table === undefined) {
      table = new Table(width, this.#maxKeys, isLog ? this.#logs : undefined)
      this.#tables.set(kind, table)
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
    for (const table of this.#tables.values()) table.sweep(nowMs, SWEEP_SHARE)
    if (this.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}
