// The shared store: every key's state in Redis or Valkey, decided there by one program, atomically, on its clock.

import type { Clock, TimerClock } from '../../core/clock.ts'
import { type Decision, decide, SingleDecision } from '../../core/decision.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store, Tally } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { checkedClock, systemClock } from '../system-clock.ts'
import { slotOf } from './hash-slot.ts'
import { type Call, RedisBatch } from './redis-batch.ts'
import { type Connection, connectionOf, type RedisClient } from './redis-client.ts'
import { storeError } from './redis-errors.ts'
import { RedisKeys } from './redis-keys.ts'
import type { Numbers } from './redis-numbers.ts'
import { programArguments } from './rule-arguments.ts'

export interface RedisStoreOptions {
  /** What the names of all keys begin with. Default: `sluice`. */
  readonly prefix?: string
  /** A clock instead of Redis' own. For tests only: processes whose clocks differ would answer differently. */
  readonly clock?: Clock
  /** How many calls travel in one command at most. Default: 64. 1 sends each by itself. */
  readonly batch?: number
}

export interface RedisStore extends Store<'async'> {}

const OPTIONS = ['prefix', 'clock', 'batch'] as const

/**
 * Larger ones save little, keep Redis from its other clients for longer, and leave it idle while the answers are read: with two
 * commands of 64 under way, one is decided while those of the other are handed out.
 */
const DEFAULT_BATCH = 64
const MOST_BATCH = 1024

/** Keeps counts in Redis or Valkey, for any number of processes. The client stays yours: connect and close it yourself. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  checkOptions('redisStore', options, OPTIONS)
  const { prefix = 'sluice', clock, batch = DEFAULT_BATCH } = options
  if (!isWhole(batch, 1, MOST_BATCH)) {
    throw new SluiceError(
      'ERR_OPTION',
      `redisStore needs batch to be a whole number from 1 to ${MOST_BATCH}, got ${show(batch)}`,
      {
        option: 'batch',
        value: batch,
      },
    )
  }
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const connection = connectionOf(client)
  const keys = new RedisKeys(prefix)
  return new RedisRoom(connection, new RedisBatch(connection, keys, batch, checked?.now), keys, checked ?? systemClock)
}

class RedisRoom implements RedisStore {
  readonly mode = 'async'
  readonly clock: TimerClock
  readonly #connection: Connection
  readonly #calls: RedisBatch
  readonly #keys: RedisKeys

  constructor(connection: Connection, calls: RedisBatch, keys: RedisKeys, clock: TimerClock) {
    this.#connection = connection
    this.#calls = calls
    this.#keys = keys
    this.clock = clock
  }

  tally(rules: readonly Rule[]): Tally<'async'> {
    return new RedisTally(this.#connection, this.#calls, this.#keys, rules)
  }

  /** Nothing to do: Redis drops what has expired by itself. */
  async clean(): Promise<number> {
    return 0
  }

  /** Looks at every name in the database, a thousand at a time: for people and tests, not for each request. */
  get size(): Promise<number> {
    return this.#count()
  }

  /** Nothing to release: the client is yours. */
  async close(): Promise<void> {}

  async #count(): Promise<number> {
    if (this.#connection.isCluster) {
      throw new SluiceError('ERR_STORE_FATAL', 'a store on a cluster has no size: no command looks at all of its nodes')
    }
    const pattern = this.#keys.pattern(this.#connection.keyPrefix)
    const seen = new Set<string>()
    let cursor = '0'
    do {
      const scan = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000']
      const reply = await this.#connection.send('', scan).catch((error: unknown) => Promise.reject(storeError(error)))
      const [next, names] = reply as [unknown, unknown[]]
      for (const name of names) seen.add(String(name))
      cursor = String(next)
    } while (cursor !== '0')
    return seen.size
  }
}

class RedisTally implements Tally<'async'> {
  readonly #calls: RedisBatch
  readonly #keys: RedisKeys
  readonly #rules: readonly Rule[]
  /** What comes after the key in the names of the states: of all rules, and of each by itself. */
  readonly #ends: readonly string[]
  readonly #singleEnds: readonly (readonly string[])[]
  /** All rules as the program is told them, and each by itself. */
  readonly #set: string
  readonly #singleSets: readonly string[]
  /** Only in a cluster does a key say which server answers. */
  readonly partOf?: (key: string) => string

  constructor(connection: Connection, calls: RedisBatch, keys: RedisKeys, rules: readonly Rule[]) {
    this.#calls = calls
    this.#keys = keys
    this.#rules = rules
    this.#ends = rules.map((rule) => keys.endOf(rule))
    this.#singleEnds = this.#ends.map((end) => [end])
    const told = rules.map(programArguments)
    this.#set = JSON.stringify(told)
    this.#singleSets = told.map((each) => JSON.stringify([each]))
    if (connection.isCluster) this.partOf = (key) => connection.nodeOf?.(slotOf(keys.startOf(key) + this.#ends[0])) ?? ''
  }

  hit(key: string, cost: number): Promise<Decision> {
    return this.#callAll('hit', key, cost, this.#readDecision)
  }

  peek(key: string, cost: number): Promise<Decision> {
    return this.#callAll('peek', key, cost, this.#readDecision)
  }

  inc(rule: number, key: string, cost: number): Promise<number> {
    return this.#callOne('inc', rule, key, cost)
  }

  get(rule: number, key: string): Promise<number> {
    return this.#callOne('get', rule, key, 0)
  }

  set(rule: number, key: string, used: number): Promise<number> {
    return this.#callOne('set', rule, key, used)
  }

  expiresAt(rule: number, key: string): Promise<number> {
    return this.#callOne('expiresAt', rule, key, 0)
  }

  refund(key: string, cost: number, rule?: number): Promise<number> {
    return rule === undefined ? this.#callAll('refund', key, cost, readNumber) : this.#callOne('refund', rule, key, cost)
  }

  reset(key: string): Promise<void> {
    return this.#callAll('reset', key, 0, readNothing)
  }

  #callAll<T>(op: Call['op'], key: string, amount: number, read: (numbers: Numbers) => T): Promise<T> {
    return this.#call(op, this.#set, key, this.#ends, amount, read)
  }

  #callOne(op: Call['op'], rule: number, key: string, amount: number): Promise<number> {
    return this.#call(op, this.#singleSets[rule], key, this.#singleEnds[rule], amount, readNumber)
  }

  #call<T>(
    op: Call['op'],
    set: string,
    key: string,
    ends: readonly string[],
    amount: number,
    read: (numbers: Numbers) => T,
  ): Promise<T> {
    const start = this.#keys.startOf(key)
    return new Promise((resolve, reject) => this.#calls.add({ op, set, amount, start, ends, read, resolve, reject }))
  }

  readonly #readDecision = (numbers: Numbers): Decision => {
    if (this.#rules.length > 1) return decide(this.#rules, figuresOf(numbers, this.#rules.length), 'store')
    const { limit, name } = this.#rules[0]
    const used = numbers.next()
    const waitMs = readWait(numbers)
    const resetAfterMs = numbers.next()
    return new SingleDecision(waitMs === 0, limit, Math.max(0, limit - used), waitMs, resetAfterMs, name, 'store')
  }
}

function figuresOf(numbers: Numbers, rules: number): number[] {
  const figures: number[] = []
  for (let i = 0; i < rules; i++) figures.push(numbers.next(), readWait(numbers), numbers.next())
  return figures
}

/** The program's −1 stands for a wait that never ends. */
function readWait(numbers: Numbers): number {
  const waitMs = numbers.next()
  return waitMs === -1 ? Number.POSITIVE_INFINITY : waitMs
}

function readNumber(numbers: Numbers): number {
  return numbers.next()
}

function readNothing(numbers: Numbers): void {
  numbers.next()
}
