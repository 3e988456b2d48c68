// Reads and swaps of records: bounded in time and in attempts, with sorted errors.

import type { TimerClock } from '../../core/clock.ts'
import type { SluiceError } from '../../core/errors.ts'
import { orGiveUp } from '../give-up.ts'
import { type SortError, type StoreErrorKind, sortedError, storeError } from '../store-errors.ts'
import { storeTime } from '../store-time.ts'
import type { Change } from '../working-states.ts'
import { OpenRecord } from './record.ts'

/** A value with the version that a swap is compared by. */
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
  /** States that stay in the record also when they have ended. */
  readonly spared: ReadonlySet<string>
  /** Changes the record at the store's time. Run again on a fresh record if somebody else wrote first. */
  work(record: OpenRecord, nowMs: number): T
  /** Work that was done before, on a reading that waits to be written. */
  readonly done?: Done<V, T>
}

export interface Done<V, T> extends Reading<V> {
  readonly nowMs: number
  readonly result: T
}

/** The first attempts follow at once; then pauses grow to this. */
const AT_ONCE = 2
const LONGEST_PAUSE_MS = 64

export class VersionedRecords<V> {
  readonly attempts: number
  readonly #options: RecordsOptions<V>

  constructor(options: RecordsOptions<V>) {
    this.attempts = options.attempts
    this.#options = options
  }

  /** Reads a record. An error is refused: nothing was written. */
  async read(name: string): Promise<Reading<V>> {
    const kept = await this.#ask('refused', () => this.#options.read(name))
    return { record: new OpenRecord(name, kept?.value), version: kept?.version }
  }

  /** The store's time, to be asked after records were read: it is not before the time of those who wrote them. */
  async now(): Promise<number> {
    return storeTime(await this.#ask('refused', async () => this.#options.now()))
  }

  /** A pause before the next attempt: longer each time, and random, so that those who met do not meet again. */
  async pause(attempt: number): Promise<void> {
    const { clock, random } = this.#options
    if (attempt <= AT_ONCE) return
    const pauseMs = Math.floor(random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
    if (pauseMs > 0) await new Promise<void>((resolve) => void clock.after(pauseMs, resolve))
  }

  /** Works on a record and writes what was changed; rejects with ERR_STORE_REFUSED if others write it all the time. */
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

  /** Writes a record if nobody else has meanwhile. An error is unknown, unless it is sorted otherwise. */
  #swap(change: Change, version: V | undefined): Promise<boolean> {
    return this.#ask('unknown', () => this.#options.swap(change, version))
  }

  async #ask<T>(otherwise: StoreErrorKind, ask: () => Promise<T>): Promise<T> {
    const { clock, longestMs, sortError } = this.#options
    try {
      return await orGiveUp({ ask, clock, longestMs, makeError: () => new Error(`no answer within ${longestMs} ms`) })
    } catch (error) {
      throw sortedError(error, sortError, otherwise)
    }
  }
}

export function tooManyOthers(attempts: number): SluiceError {
  return storeError('refused', `others changed it ${attempts} times while this call was decided; it counted nothing`)
}
