// Decides a group of calls that share records: reads all records, runs the calls in order, and writes each record with one swap.
// If another writer was first on a record, the calls on it run again on the new record. If that denies a call, its charges on its
// other records are undone.
// Invariants: no limit is exceeded. A denied call leaves charges only on rules that count denied hits. The error of a call is
// `refused` only if none of its charges is left.

import type { Figures } from '../../core/call.ts'
import { SluiceError } from '../../core/errors.ts'
import { isLate, lateError, markMayCount } from '../late-calls.ts'
import { type Charged, takenBack } from './give-back.ts'
import type { OpenRecord } from './record.ts'
import {
  type At,
  canDeny,
  isDenied,
  joinedFigures,
  type PartResult,
  type RecordCall,
  runAgain,
  runAlone,
  runWhole,
} from './record-call.ts'
import type { Reading, VersionedRecords } from './versioned-records.ts'

/** The figures or the error of a call; or `again` if the call must be decided again, because other writers changed its records. */
export type GroupOutcome = Figures | SluiceError | 'again'

/** A call of the group, with its results so far. */
interface Attempt {
  readonly call: RecordCall
  readonly wasDenied: boolean
  /** The result of each part, in the order of the parts. */
  readonly results: PartResult[]
  /** Errors of parts that were not written. */
  readonly errors: SluiceError[]
}

export class RecordGroup<V> {
  readonly #records: VersionedRecords<V>
  readonly #calls: readonly RecordCall[]
  readonly #spared: ReadonlySet<string>

  constructor(records: VersionedRecords<V>, calls: readonly RecordCall[]) {
    this.#records = records
    this.#calls = calls
    this.#spared = calls.length === 1 ? calls[0].spared : new Set(calls.flatMap(({ spared }) => [...spared]))
  }

  /**
   * Decides the calls. Resolves to an outcome for each call. A call with a record that cannot be read fails alone. Rejects if the
   * only call fails.
   */
  async decide(): Promise<readonly GroupOutcome[]> {
    const [first] = this.#calls
    if (this.#calls.length === 1 && first.parts.length === 1) return [await this.#decideAlone(first)]
    const names = [...new Set(this.#calls.flatMap(({ parts }) => parts.map(({ record }) => record)))].sort()
    const readings = new Map<string, Reading<V>>()
    const unread = new Map<string, SluiceError>()
    const read = async (name: string): Promise<void> => {
      await this.#noted(name, this.#records.read(name)).then(
        (reading) => readings.set(name, reading),
        (error: SluiceError) => unread.set(name, error),
      )
    }
    await Promise.all(names.map(read))
    const nowMs = readings.size === 0 ? 0 : await this.#records.now()
    const tried = this.#calls.map((call) => firstAttempt(call, { readings, unread, nowMs }))
    const attempts = tried.filter((attempt): attempt is Attempt => !(attempt instanceof SluiceError))
    await Promise.all([...readings].map(([name, reading]) => this.#write(name, attempts, { ...reading, nowMs })))
    const stuck = await this.#takeBack(attempts.filter(isToTakeBack))
    return tried.map((attempt) => (attempt instanceof SluiceError ? attempt : outcomeOf(attempt, stuck)))
  }

  /** Decides the only call of the group, which has one record: the most frequent case, and nothing can be left to undo. */
  async #decideAlone(call: RecordCall): Promise<Figures> {
    const [part] = call.parts
    const work = (record: OpenRecord, nowMs: number): Figures => {
      if (isLate(call.asker)) throw lateError()
      return runAlone(part, { record, nowMs })
    }
    const { record, version } = await this.#records.read(part.record)
    const nowMs = await this.#records.now()
    const result = work(record, nowMs)
    markMayCount(call.asker)
    return this.#records.update({ name: part.record, spared: this.#spared, work, done: { record, version, nowMs, result } })
  }

  /** Writes one record, with the parts of all calls on it. */
  async #write(name: string, attempts: readonly Attempt[], reading: Reading<V> & { readonly nowMs: number }): Promise<void> {
    const parts = attempts.flatMap((attempt) => {
      const partIndex = attempt.call.parts.findIndex(({ record }) => record === name)
      return partIndex < 0 ? [] : [{ attempt, partIndex }]
    })
    const update = this.#records.update<readonly (PartResult | SluiceError)[]>({
      name,
      spared: this.#spared,
      work: (record, nowMs) =>
        parts.map(({ attempt, partIndex }) => orError(() => runPartAgain(attempt, partIndex, { record, nowMs }))),
      done: { ...reading, result: parts.map(({ attempt, partIndex }) => attempt.results[partIndex]) },
    })
    const written = await this.#noted(name, update).catch((error: SluiceError) => parts.map(() => error))
    for (const [i, { attempt, partIndex }] of parts.entries()) {
      const part = written[i]
      if (part instanceof SluiceError) attempt.errors.push(part)
      attempt.results[partIndex] = part instanceof SluiceError ? unwritten(attempt.results[partIndex]) : part
    }
  }

  /** Lets the calls on a record note what becomes of a question about it. Returns the answer. */
  #noted<T>(name: string, answer: Promise<T>): Promise<T> {
    for (const { parts, noted } of this.#calls)
      if (noted !== undefined && parts.some(({ record }) => record === name)) noted(name, answer)
    return answer
  }

  /** Undoes the charges of calls. Returns the names of the records on which that failed. */
  async #takeBack(attempts: readonly Attempt[]): Promise<ReadonlySet<string>> {
    const charged = new Map<string, Charged[]>()
    for (const { call, results } of attempts) {
      for (const [i, { record }] of call.parts.entries()) {
        charged.set(record, [...(charged.get(record) ?? []), ...results[i].charged])
      }
    }
    const stuck = new Set<string>()
    const take = async ([name, charges]: readonly [string, readonly Charged[]]): Promise<void> => {
      await this.#records
        .update({ name, spared: this.#spared, work: (record, nowMs) => takeBack(charges, record, nowMs) })
        .catch(() => stuck.add(name))
    }
    await Promise.all([...charged].filter(([, charges]) => charges.length > 0).map(take))
    return stuck
  }
}

function outcomeOf(attempt: Attempt, stuck: ReadonlySet<string>): GroupOutcome {
  const { call, wasDenied, results, errors } = attempt
  if (errors.length === 0 && !isLost(attempt)) return joinedFigures(call, results)
  const isClean = isToTakeBack(attempt)
    ? !call.parts.some(({ record }, i) => results[i].charged.length > 0 && stuck.has(record))
    : !results.some(({ hasChanged }) => hasChanged)
  // A denied hit may have charged rules that count denied hits, and charges them again. That counts too much, but never too little.
  if (errors.length === 0) return isClean || wasDenied ? 'again' : unknown(undefined)
  const unsure = errors.find(({ code }) => code === 'ERR_STORE_UNKNOWN')
  return unsure ?? (isClean ? errors[0] : unknown(errors[0]))
}

/** True if the parts do not agree, because other writers changed some of the records. */
function isLost({ call, wasDenied, results }: Attempt): boolean {
  if (call.parts.length === 1) return false
  return results.some((result) => result.isLost) || (wasDenied && !isDenied(call.call, joinedFigures(call, results)))
}

/** True if charges of the call must be undone. */
function isToTakeBack(attempt: Attempt): boolean {
  const { call, wasDenied, errors } = attempt
  return canDeny(call.call) && !wasDenied && (errors.length > 0 || isLost(attempt))
}

interface ReadRecords {
  readonly readings: ReadonlyMap<string, { readonly record: OpenRecord }>
  /** Records that could not be read, with their errors. */
  readonly unread: ReadonlyMap<string, SluiceError>
  readonly nowMs: number
}

function firstAttempt(call: RecordCall, { readings, unread, nowMs }: ReadRecords): Attempt | SluiceError {
  for (const { record } of call.parts) {
    const error = unread.get(record)
    if (error !== undefined) return error
  }
  if (isLate(call.asker)) return lateError()
  markMayCount(call.asker)
  const results = orError(() => runWhole(call, readings, nowMs))
  if (results instanceof SluiceError) return results
  return { call, results: [...results], wasDenied: isDenied(call.call, joinedFigures(call, results)), errors: [] }
}

/** Runs one part again. A call with one part is decided as if for the first time. */
function runPartAgain({ call, wasDenied }: Attempt, partIndex: number, { record, nowMs }: At): PartResult {
  if (isLate(call.asker)) throw lateError()
  const part = call.parts[partIndex]
  if (call.parts.length > 1) return runAgain(part, { record, nowMs }, wasDenied)
  return runWhole(call, new Map([[part.record, { record }]]), nowMs)[0]
}

/** Undoes charges, the last one first. Each finds the state as it was just after the charge, unless others have changed it. */
function takeBack(charged: readonly Charged[], record: OpenRecord, nowMs: number): void {
  for (const each of [...charged].reverse()) record.apply(takenBack(each, (name) => record.read(name), nowMs))
}

function unwritten(result: PartResult): PartResult {
  return { ...result, charged: [], hasChanged: false }
}

/** Returns a SluiceError instead of throwing it: an error such as a damaged value belongs to one call alone. */
function orError<T>(run: () => T): T | SluiceError {
  try {
    return run()
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
}

function unknown(cause: SluiceError | undefined): SluiceError {
  const message = 'the store failed for some keys of the call, and may have counted others'
  return new SluiceError('ERR_STORE_UNKNOWN', message, { cause })
}
