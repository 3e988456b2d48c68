// Reads and writes records. Each request has a time limit, writes have a bounded number of attempts, and errors are sorted.

import type { TimerClock } from '../../core/clock.ts'
import type { SluiceError } from '../../core/errors.ts'
import { Deadlines } from '../../failure/deadlines.ts'
import { type Bounded, orGiveUp } from '../give-up.ts'
import { type SortError, type StoreErrorKind, sortedError, storeError } from '../store-errors.ts'
import { storeTime } from '../store-time.ts'
import type { Change } from '../working-states.ts'
import { OpenRecord } from './record.ts'

/** A value with its version. A version changes with each write. */
export interface Versioned<V> {
  readonly value: Uint8Array
  readonly version: V
}

export interface RecordsOptions<V> {
  read(name: string): Promise<Versioned<V> | undefined>
  swap(change: Change, version: V | undefined): Promise<boolean>
  now(): number | Promise<number>
  random(): number
  readonly sortError: SortError | undefined
  readonly clock: TimerClock
  readonly attempts: number
  readonly longestMs: number
}

/** A record that was read, with its version. */
export interface Reading<V> {
  readonly record: OpenRecord
  readonly version: V | undefined
}

export interface Update<V, T> {
  readonly name: string
  /** Names of states that stay in the record when they have ended. */
  readonly spared: ReadonlySet<string>
  /** Changes the record. Called again, with the record that was read again, if another writer was first. */
  work(record: OpenRecord, nowMs: number): T
  /** The first reading and its result, if the work was already done. Default: `update` reads the record and calls `work`. */
  readonly done?: Done<V, T>
}

export interface Done<V, T> extends Reading<V> {
  readonly nowMs: number
  readonly result: T
}

/** So many attempts follow each other without a pause. Later pauses grow up to `LONGEST_PAUSE_MS`. */
const AT_ONCE = 2
const LONGEST_PAUSE_MS = 64

export class VersionedRecords<V> {
  readonly attempts: number
  readonly #options: RecordsOptions<V>
  /** Time limits of requests. Those that start together share a timer. */
  readonly #limits: Bounded<unknown>['clock']

  constructor(options: RecordsOptions<V>) {
    this.attempts = options.attempts
    this.#options = options
    const deadlines = new Deadlines(options.clock, options.longestMs)
    this.#limits = { after: (_, onEnd) => deadlines.start(onEnd) }
  }

  /** Reads a record. An error that nobody sorts is `refused`, because nothing was written. */
  async read(name: string): Promise<Reading<V>> {
    const kept = await this.#ask('refused', () => this.#options.read(name))
    return { record: new OpenRecord(name, kept?.value), version: kept?.version }
  }

  /** Returns the store's time. Called after a read, so that the time is not before the last write of the record. */
  async now(): Promise<number> {
    let nowMs: number | Promise<number>
    try {
      nowMs = this.#options.now()
    } catch (error) {
      throw sortedError(error, this.#options.sortError, 'refused')
    }
    // A process' own clock needs no time limit.
    return storeTime(typeof nowMs === 'object' ? await this.#ask('refused', async () => nowMs) : nowMs)
  }

  /** Pauses after an attempt. Pauses grow and are random, so that competing writers do not meet again. */
  async pause(attempt: number): Promise<void> {
    const { clock, random } = this.#options
    if (attempt <= AT_ONCE) return
    const pauseMs = Math.floor(random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
    if (pauseMs > 0) await new Promise<void>((resolve) => void clock.after(pauseMs, resolve))
  }

  /** Changes a record and writes it. Rejects with ERR_STORE_REFUSED if another writer was first in every attempt. */
  async update<T>(update: Update<V, T>): Promise<T> {
    let { done } = update
    for (let attempt = 1; attempt <= this.attempts; attempt++) {
      done ??= await this.#do(update)
      const change = done.record.change(done.nowMs, update.spared)
      if (change === undefined || (await this.#swap(change, done.version))) return done.result
      done = undefined
      await this.pause(attempt)
    }
    throw tooManyOthers(this.attempts)
  }

  async #do<T>({ name, work }: Update<V, T>): Promise<Done<V, T>> {
    const reading = await this.read(name)
    const nowMs = await this.now()
    return { ...reading, nowMs, result: work(reading.record, nowMs) }
  }

  /** Writes a record if its version is unchanged. An error that nobody sorts is `unknown`. */
  #swap(change: Change, version: V | undefined): Promise<boolean> {
    return this.#ask('unknown', () => this.#options.swap(change, version))
  }

  async #ask<T>(otherwise: StoreErrorKind, ask: () => Promise<T>): Promise<T> {
    const { longestMs, sortError } = this.#options
    const makeError = (): Error => new Error(`no answer within ${longestMs} ms`)
    try {
      return await orGiveUp({ ask, clock: this.#limits, longestMs, makeError })
    } catch (error) {
      throw sortedError(error, sortError, otherwise)
    }
  }
}

export function tooManyOthers(attempts: number): SluiceError {
  return storeError('refused', `others changed it ${attempts} times while this call was decided; it counted nothing`)
}
