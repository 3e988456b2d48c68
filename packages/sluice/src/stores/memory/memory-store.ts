// The memory store: every key's state in typed arrays of this process. Answers at once; bounded; forgets nothing that limits somebody while it can.

import type { Clock, TimerClock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { checkedClock, systemClock } from '../system-clock.ts'
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
}

export interface MemoryStore extends Store<'sync'> {}

const OPTIONS = ['clock', 'maxKeys'] as const

const DEFAULT_MAX_KEYS = 1_000_000

/** The most rows that one typed array of them can hold with room to spare. */
const MOST_KEYS = 50_000_000

/** Every second a sixtieth of the rows is swept: what has expired is gone a minute later. */
const SWEEP_EVERY_MS = 1000
const SWEEP_SHARE = 1 / 60

/** A row of a log: when the state ends, and the log's handle. */
const LOG_ROW_WIDTH = 2

/** Keeps counts in this process. `maxKeys` bounds it; the keys themselves are not kept. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, OPTIONS)
  const { clock, maxKeys = DEFAULT_MAX_KEYS } = options
  if (clock !== undefined && typeof clock?.now !== 'function') {
    throw new SluiceError('ERR_OPTION', `memoryStore needs clock to have a now() method, got ${show(clock)}`)
  }
  if (!isWhole(maxKeys, 1, MOST_KEYS)) {
    throw new SluiceError(
      'ERR_OPTION',
      `memoryStore needs maxKeys to be a whole number from 1 to ${MOST_KEYS}, got ${show(maxKeys)}`,
    )
  }
  return new MemoryRoom(clock === undefined ? systemClock : checkedClock(clock), maxKeys)
}

export class MemoryRoom implements MemoryStore {
  readonly mode = 'sync'
  readonly clock: TimerClock
  readonly keyHash = new KeyHash()
  /** Another hash than the keys', so that no key can stand for a rule. */
  readonly #ruleHash = new KeyHash()
  readonly #maxKeys: number
  readonly #logs = new LogArena()
  /** One table for each width of a row. */
  readonly #tables = new Map<string, Table>()
  #sweeper: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor(clock: TimerClock, maxKeys: number) {
    this.clock = clock
    this.#maxKeys = maxKeys
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

  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** The rule's own fingerprint, mixed into every key's: no two rules share a row. */
  fingerprint(rule: Rule): { readonly lo: number; readonly hi: number } {
    const hi = this.#ruleHash.hash(`${rule.algorithm}\0${rule.name}`)
    return { lo: this.#ruleHash.lo, hi }
  }

  tableFor(rule: Rule): Table {
    const kind = rule.log === undefined ? String(rule.width) : 'log'
    let table = this.#tables.get(kind)
    if (table === undefined) {
      const width = rule.log === undefined ? rule.width : LOG_ROW_WIDTH
      table = new Table(width, this.#maxKeys, rule.log === undefined ? undefined : this.#logs)
      this.#tables.set(kind, table)
    }
    return table
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
      if (dropped === 0 && weakest !== undefined) weakest.drop(weakest.rows, weakest.victim)
    }
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
