// One line for each record: calls on it wait while a swap is under way, and go together into the next one.
// Invariants: this process has one swap of a record under way; calls on a record keep their order; no error of ours
// leaves a call without an answer.

import type { TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import { orGiveUp } from './give-up.ts'
import { OpenRecord } from './record.ts'
import { type SortError, type StoreErrorKind, sortedError, storeError } from './store-errors.ts'
import { storeTime } from './store-time.ts'
import { Turn } from './turn.ts'
import type { Change } from './working-states.ts'

/** A value with the version that a swap is compared by. */
export interface Versioned<V> {
  readonly value: Uint8Array
  readonly version: V
}

export interface LineOptions<V> {
  read(name: string): Promise<Versioned<V> | undefined>
  swap(change: Change, version: V | undefined): Promise<boolean>
  now(): number | Promise<number>
  readonly sortError: SortError | undefined
  readonly random: () => number
  readonly clock: TimerClock
  readonly attempts: number
  readonly calls: number
  readonly longestMs: number
}

/** Works on a record that is open; run again on a fresh record if somebody else wrote first. */
export type Work<T> = (record: OpenRecord, nowMs: number) => T

interface Job {
  readonly work: Work<unknown>
  /** States to be kept also when they have ended. */
  readonly spared: readonly string[]
  readonly resolve: (result: never) => void
  readonly reject: (reason: unknown) => void
}

type Outcome = { readonly result: unknown } | { readonly error: unknown }

/** The first attempts follow at once; then pauses grow to this. */
const AT_ONCE = 2
const LONGEST_PAUSE_MS = 64

export class RecordLines<V> {
  readonly #options: LineOptions<V>
  readonly #lines = new Map<string, Job[]>()
  readonly #running = new Set<Promise<void>>()
  readonly #turn: Turn<string>

  constructor(options: LineOptions<V>) {
    this.#options = options
    this.#turn = new Turn((names) => {
      for (const name of names) this.#start(name)
    })
  }

  /** Runs `work` on a record, and resolves when what it changed is written. */
  join<T>(name: string, spared: readonly string[], work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, spared, resolve, reject }
      const line = this.#lines.get(name)
      if (line !== undefined) {
        line.push(job)
        return
      }
      this.#lines.set(name, [job])
      this.#turn.add(name)
    })
  }

  /** Resolves when nobody waits in any line. */
  async idle(): Promise<void> {
    this.#turn.flush()
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** A pause before the next attempt: longer each time, and random, so that those who met do not meet again. */
  async pause(attempt: number): Promise<void> {
    const { clock, random } = this.#options
    if (attempt <= AT_ONCE) return
    const pauseMs = Math.floor(random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
    if (pauseMs > 0) await new Promise<void>((resolve) => void clock.after(pauseMs, resolve))
  }

  #start(name: string): void {
    const running = this.#serve(name).then(() => void this.#running.delete(running))
    this.#running.add(running)
  }

  async #serve(name: string): Promise<void> {
    const line = this.#lines.get(name) ?? []
    while (line.length > 0) {
      const jobs = line.splice(0, this.#options.calls)
      try {
        const outcomes = await this.#decide(name, jobs)
        for (const [i, { resolve, reject }] of jobs.entries()) {
          const outcome = outcomes[i]
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.result as never)
        }
      } catch (error) {
        for (const { reject } of jobs) reject(error)
      }
    }
    this.#lines.delete(name)
  }

  async #decide(name: string, jobs: readonly Job[]): Promise<readonly Outcome[]> {
    const { attempts } = this.#options
    const spared = new Set(jobs.flatMap((job) => job.spared))
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const kept = await this.#ask('refused', () => this.#options.read(name))
      const nowMs = storeTime(await this.#ask('refused', async () => this.#options.now()))
      const record = new OpenRecord(name, kept?.value)
      const outcomes = jobs.map(({ work }) => tried(() => work(record, nowMs)))
      const change = record.change(nowMs, spared)
      if (change === undefined) return outcomes
      if (await this.#ask('unknown', () => this.#options.swap(change, kept?.version))) return outcomes
      await this.pause(attempt)
    }
    throw storeError('refused', `others changed the record ${attempts} times while this call was decided; it counted nothing`)
  }

  async #ask<T>(otherwise: StoreErrorKind, ask: () => Promise<T>): Promise<T> {
    const { clock, longestMs, sortError } = this.#options
    try {
      return await orGiveUp(ask, clock, longestMs, () => new Error(`no answer within ${longestMs} ms`))
    } catch (error) {
      throw sortedError(error, sortError, otherwise)
    }
  }
}

/** An error of ours, such as a damaged value, is that of one call alone. */
function tried(work: () => unknown): Outcome {
  try {
    return { result: work() }
  } catch (error) {
    if (error instanceof SluiceError) return { error }
    throw error
  }
}
