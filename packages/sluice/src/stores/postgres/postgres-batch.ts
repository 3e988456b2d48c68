// Sends calls as one command: one round trip, and one transaction.
// Invariants: a command that may have been executed is not sent again. Every command settles, by an error after LONGEST_MS: then its
// connection is closed, if the client can, and other commands may use its rows.

import type { Figures } from '../../core/call.ts'
import type { TimerClock } from '../../core/clock.ts'
import type { ScriptedAnswer } from '../../engines/scripted.ts'
import { sortedError, storeError } from '../../engines/store-errors.ts'
import { CommandLimit } from './command-limit.ts'
import type { ConnectionUse, PostgresConnections, Row } from './postgres-client.ts'
import { type PostgresCall, PostgresCommand } from './postgres-command.ts'
import { isInternal, isMissingFunction, isMissingTable, isUnprepared, postgresErrorKind } from './postgres-errors.ts'
import type { FunctionNames, PostgresFunctions } from './postgres-functions.ts'
import type { PostgresTable } from './postgres-table.ts'
import { RowOrder } from './row-order.ts'
import { type Prepared, ShortHits, statementOfMany, statementOfOne } from './short-hits.ts'
import { LONGEST_MS } from './transaction-mode.ts'

export interface BatchOptions {
  readonly connections: PostgresConnections
  readonly table: PostgresTable
  readonly functions: PostgresFunctions
  readonly clock: TimerClock | undefined
  readonly isDurable: boolean
  /** Called after a command that may have written rows. */
  readonly wrote: () => void
}

export class PostgresBatch {
  readonly #options: BatchOptions
  readonly #order = new RowOrder()
  readonly #limit = new CommandLimit()
  #statements: { readonly one: Prepared; readonly many: Prepared } | undefined
  /** False if a statement has turned out not to be prepared on the connection: then a pooler shares connections. */
  #canPrepare = true
  /** False if the short way has left many hits of the last command: then the next ones probably need a function too. */
  #isShort = true

  constructor(options: BatchOptions) {
    this.#options = options
  }

  execute(calls: readonly PostgresCall[]): Promise<readonly ScriptedAnswer[]> {
    const command = new PostgresCommand(calls)
    const use: ConnectionUse = {}
    let isSent = false
    const ask = async (): Promise<readonly ScriptedAnswer[]> => {
      const { functions } = this.#options
      const names = functions.names ?? (await functions.ready())
      if (use.isOver) throw storeError('refused', 'the command came too late')
      isSent = true
      return this.#send(command, names, use)
    }
    let freeRows: (error: Error) => void = () => {}
    /** Ends with the command, or when it is given up. Not every client can close a connection that is silent. */
    const askOrFree = () =>
      new Promise<readonly ScriptedAnswer[]>((resolve, reject) => {
        freeRows = reject
        ask().then(resolve, reject)
      })
    return this.#limit.run(
      () => this.#order.run(command.names, askOrFree),
      () => {
        use.isOver = true
        use.drop?.()
        const words = `there was no answer within ${LONGEST_MS} ms`
        const error = isSent ? new Error(words) : storeError('refused', `${words}, and the command was not sent`)
        freeRows(error)
        return error
      },
    )
  }

  async #send(command: PostgresCommand, names: FunctionNames, use: ConnectionUse): Promise<readonly ScriptedAnswer[]> {
    const { wrote } = this.#options
    try {
      const answers = (await this.#hitShortly(command, names, use)) ?? (await this.#callOrMake(command, names, use))
      if (!command.readsOnly) wrote()
      return answers
    } catch (error) {
      throw this.#orForget(error, names)
    }
  }

  /** If somebody has dropped the table or the functions, the next call makes them anew. */
  #orForget(error: unknown, names: FunctionNames): unknown {
    const { table, functions } = this.#options
    if (isInternal(error)) functions.forget(names)
    if (isMissingTable(error)) table.forget()
    else if (!isMissingFunction(error)) return error
    functions.forget(names)
    this.#statements = undefined
    return storeError('refused', 'the table or the functions were dropped')
  }

  /**
   * Decides calls by a function. If somebody has dropped a function, nothing was executed: all functions are made anew, and the command
   * is sent once more.
   */
  async #callOrMake(command: PostgresCommand, names: FunctionNames, use: ConnectionUse): Promise<readonly ScriptedAnswer[]> {
    try {
      return await this.#callFunction(command, names, use)
    } catch (error) {
      if (!isMissingFunction(error)) throw error
    }
    const { functions } = this.#options
    functions.forget(names)
    const made = await functions.ready()
    if (use.isOver) throw storeError('refused', 'the command came too late')
    return this.#callFunction(command, made, use)
  }

  async #callFunction(
    command: PostgresCommand,
    functions: FunctionNames,
    use: ConnectionUse,
  ): Promise<readonly ScriptedAnswer[]> {
    const { connections, clock, isDurable } = this.#options
    const [row] = await connections.query(command.text({ functions, isDurable, nowMs: clock?.now() }), undefined, use)
    const answers = command.read(Object.values(row)[0])
    this.#isShort = areMostly(answers, (answer) => Array.isArray(answer) && answer[1] === 0)
    return answers
  }

  /** Decides hits by the short way, and the hits that it leaves by a function. Undefined if there is no short way. */
  async #hitShortly(
    command: PostgresCommand,
    functions: FunctionNames,
    use: ConnectionUse,
  ): Promise<readonly ScriptedAnswer[] | undefined> {
    const { connections, clock } = this.#options
    const isShort = this.#canPrepare && this.#isShort && functions.isReadCommitted
    const prepared = isShort ? connections.prepared : undefined
    const hits = prepared === undefined ? undefined : ShortHits.of(command)
    if (prepared === undefined || hits === undefined) return undefined
    const nowMs = clock?.now()
    let rows: readonly Row[]
    try {
      rows = await prepared(await this.#statementFor(hits), hits.parameters(nowMs), use)
    } catch (error) {
      // A pooler has given this connection to others meanwhile. The statement was not executed, and none is prepared again.
      if (!isUnprepared(error)) throw error
      this.#canPrepare = false
      return undefined
    }
    const figures = hits.read(rows.length === 0 ? undefined : Object.values(rows[0])[0])
    const left = command.calls.filter((_, i) => figures[i] === undefined)
    if (left.length === 0) return figures as Figures[]
    const answers = await this.#answersToLeft(left, functions, use)
    this.#isShort = areMostly(figures, (each) => each !== undefined)
    return figures.map((each) => each ?? (answers.shift() as ScriptedAnswer))
  }

  /**
   * Decides the hits that the short way has left. Never rejects: the other hits of the command are counted already, and an error of the
   * whole command would let their callers send them again.
   */
  async #answersToLeft(left: readonly PostgresCall[], functions: FunctionNames, use: ConnectionUse): Promise<ScriptedAnswer[]> {
    try {
      return [...(await this.#callOrMake(new PostgresCommand(left), functions, use))]
    } catch (error) {
      const reason = sortedError(this.#orForget(error, functions), postgresErrorKind, 'unknown')
      return left.map(() => reason)
    }
  }

  async #statementFor({ isOne }: ShortHits): Promise<Prepared> {
    const { table, isDurable, clock } = this.#options
    if (this.#statements === undefined) {
      const options = { table: await table.ready(), isDurable, isTimed: clock !== undefined }
      this.#statements = { one: statementOfOne(options), many: statementOfMany(options) }
    }
    return isOne ? this.#statements.one : this.#statements.many
  }
}

/** True if three of four values, or more, are so. */
function areMostly<T>(values: readonly T[], isSo: (value: T) => boolean): boolean {
  return values.filter(isSo).length * 4 >= values.length * 3
}
