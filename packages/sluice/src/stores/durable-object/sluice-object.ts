// The Durable Object: keeps the states of its keys in its SQLite database, and decides calls by the definitions.
// It is a plain class with `fetch`, so that nothing is imported from `cloudflare:workers`, which other runtimes do not have.
// Invariants: the calls of a message are decided in one synchronous transaction, on the object's own clock. The runtime holds the
// reply back until the database has stored the transaction.

import type { Clock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { messageOf, sortedError } from '../../engines/store-errors.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import { type ErrorReply, type Reply, VERSION, writtenFigures } from './message.ts'
import { MessageStates } from './message-states.ts'
import { type ObjectSql, ObjectTable, type Row } from './object-table.ts'
import { type CheckedMessage, MessageReader } from './read-message.ts'
import { alarmDelay, RowBound, SPARED_MS } from './row-bound.ts'

/** As much of the context of a Durable Object as the class uses. */
export interface ObjectContext {
  readonly storage: {
    readonly sql: ObjectSql
    transactionSync<V>(body: () => V): V
    getAlarm(): Promise<number | null>
    setAlarm(timeMs: number): Promise<void>
  }
}

export interface SluiceObjectOptions {
  /** The most states that the object keeps: one for each rule and key. Beyond, states that have used little are evicted. Default: 100,000. */
  readonly maxKeys?: number
  /** A clock instead of the object's own. Only for tests. */
  readonly clock?: Clock
}

const OPTIONS = ['maxKeys', 'clock'] as const

const DEFAULT_MAX_KEYS = 100_000
/** A row takes about 150 bytes, and the database of an object holds 10 GB. */
const MOST_KEYS = 50_000_000

/** A Worker exports this class. A class that extends it can pass options. */
export class SluiceObject {
  readonly #storage: ObjectContext['storage']
  readonly #clock: Clock
  readonly #reader = new MessageReader()
  readonly #maxKeys: number
  #opened: { readonly table: ObjectTable; readonly bound: RowBound } | undefined
  /** The time of the next alarm by the system's clock; Infinity if there is none; undefined if it is not known yet. */
  #alarmAt: number | undefined

  constructor(ctx: ObjectContext, _env?: unknown, options: SluiceObjectOptions = {}) {
    checkOptions('SluiceObject', options, OPTIONS)
    const { maxKeys = DEFAULT_MAX_KEYS, clock } = options
    if (!isWhole(maxKeys, 1, MOST_KEYS)) {
      const message = `SluiceObject needs maxKeys to be a whole number from 1 to ${MOST_KEYS}, got ${show(maxKeys)}`
      throw new SluiceError('ERR_OPTION', message, { option: 'maxKeys', value: maxKeys })
    }
    this.#storage = ctx.storage
    this.#maxKeys = maxKeys
    this.#clock = clock === undefined ? systemClock : checkedClock(clock)
  }

  /** Answers a message of `durableObjectStore`. */
  async fetch(request: Request): Promise<Response> {
    try {
      const message = await this.#reader.read(request)
      // The clock of an object stands still while it computes. The body that was just read has moved it on.
      const nowMs = this.#clock.now()
      const { reply, written } = this.#transact(() => this.#answer(message, nowMs))
      if (written.length > 0) await this.#setAlarm(written, nowMs)
      return replyWith(reply, 200)
    } catch (error) {
      const { code, message } = sortedError(error, undefined, 'unknown')
      return replyWith({ version: VERSION, error: { code, message } }, code === 'ERR_STORE_FATAL' ? 400 : 503)
    }
  }

  /** Sweeps states that have ended. The runtime calls it at the time of the object's alarm. */
  async alarm(): Promise<void> {
    const { bound } = this.#open()
    const delayMs = this.#transact(() => bound.sweepForAlarm(this.#clock.now()))
    this.#alarmAt = Number.POSITIVE_INFINITY
    if (delayMs !== undefined) await this.#alarmAfter(delayMs)
  }

  #answer({ task, calls }: CheckedMessage, nowMs: number): { readonly reply: Reply; readonly written: readonly Row[] } {
    const { table, bound } = this.#open()
    if (task === 'size') return { reply: { version: VERSION, count: table.count }, written: [] }
    if (task === 'clean') return { reply: { version: VERSION, count: bound.clean(nowMs) }, written: [] }
    const states = new MessageStates(table, nowMs)
    const answers = calls.map((call) => {
      const answer = states.run(call)
      return answer instanceof SluiceError ? errorReply(answer) : writtenFigures(answer)
    })
    return { reply: { version: VERSION, answers }, written: states.write(bound) }
  }

  /** Runs a transaction. If it throws, it was rolled back, and nothing was counted. */
  #transact<V>(body: () => V): V {
    const { table } = this.#open()
    try {
      return this.#storage.transactionSync(body)
    } catch (error) {
      table.forgetCount()
      throw sortedError(error, () => 'refused', 'refused')
    }
  }

  #open(): { readonly table: ObjectTable; readonly bound: RowBound } {
    if (this.#opened === undefined) {
      const table = tableIn(this.#storage)
      this.#opened = { table, bound: new RowBound(table, this.#maxKeys) }
    }
    return this.#opened
  }

  /** Sets the alarm, if there is none before the rows can be swept. An idle object is not woken before. */
  async #setAlarm(written: readonly Row[], nowMs: number): Promise<void> {
    this.#alarmAt ??= (await this.#storage.getAlarm()) ?? Number.POSITIVE_INFINITY
    const firstEnd = written.reduce((first, { endsAt }) => Math.min(first, endsAt), Number.POSITIVE_INFINITY)
    const delayMs = alarmDelay(firstEnd, nowMs)
    // An alarm costs a write, so one that comes a little late is left as it is.
    if (this.#alarmAt > Date.now() + delayMs + SPARED_MS) await this.#alarmAfter(delayMs)
  }

  async #alarmAfter(delayMs: number): Promise<void> {
    this.#alarmAt = Date.now() + delayMs
    await this.#storage.setAlarm(this.#alarmAt)
  }
}

function tableIn(storage: ObjectContext['storage']): ObjectTable {
  try {
    return new ObjectTable(storage.sql)
  } catch (error) {
    const message =
      'SluiceObject could not open its table. It needs SQLite storage: name the class in new_sqlite_classes of a migration. ' +
      `The runtime says: ${messageOf(error)}`
    throw new SluiceError('ERR_STORE_FATAL', message, { cause: error })
  }
}

function errorReply({ code, message }: SluiceError): ErrorReply {
  return { code, message }
}

function replyWith(reply: Reply, status: number): Response {
  return new Response(JSON.stringify(reply), { status, headers: { 'Content-Type': 'application/json' } })
}
