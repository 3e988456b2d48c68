// Connections that transactions borrow, for a bounded time and in a bounded number.
// Invariant: a connection is given back or closed, once. It is given back only if no transaction of the store is open on it.

import { storeError } from '../../engines/store-errors.ts'
import { systemClock } from '../../engines/system-clock.ts'
import type { Rows, Session, Sessions } from './mysql-client.ts'
import { isForeignTransaction, isOfConnection } from './mysql-errors.ts'
import { ROLLBACK } from './mysql-table.ts'

export interface BorrowBounds {
  /** The most transactions that have a connection or wait for one. */
  readonly most: number
  /** Time after which a connection of a pool is closed, in ms. */
  readonly longestMs: number
}

export class BorrowedConnections {
  readonly #sessions: Sessions
  readonly #bounds: BorrowBounds
  #open = 0

  constructor(sessions: Sessions, bounds: BorrowBounds) {
    this.#sessions = sessions
    this.#bounds = bounds
  }

  /** Waits for a connection. Refuses if too many wait already. */
  async open(): Promise<BorrowedConnection> {
    const { most, longestMs } = this.#bounds
    if (this.#open >= most) throw storeError('refused', 'too many transactions wait for a connection of the pool already')
    this.#open += 1
    const onEnd = (): void => {
      this.#open -= 1
    }
    try {
      const session = await this.#sessions.open()
      // A connection that belongs to the application is not closed. It is borrowed until the server answers.
      return new BorrowedConnection(session, this.#sessions.isPool ? longestMs : undefined, onEnd)
    } catch (error) {
      onEnd()
      throw error
    }
  }
}

export class BorrowedConnection {
  readonly session: Session
  readonly #onEnd: () => void
  readonly #cancel: () => void
  readonly #isOfPool: boolean
  #isOver = false
  /** Rejects the answer that is waited for. */
  #giveUp: (error: Error) => void = () => {}

  constructor(session: Session, longestMs: number | undefined, onEnd: () => void) {
    this.session = session
    this.#isOfPool = longestMs !== undefined
    this.#onEnd = onEnd
    this.#cancel = longestMs === undefined ? () => {} : systemClock.after(longestMs, () => this.discard())
  }

  /** Sends a text. Rejects also if the connection is closed before the answer. */
  send(sql: string): Promise<readonly Rows[]> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject
      this.session.send(sql).then(resolve, reject)
    })
  }

  release(): void {
    if (this.#end()) this.session.release()
  }

  discard(): void {
    if (!this.#end()) return
    this.session.discard()
    this.#giveUp(new Error('the server did not answer in time, and the connection was closed'))
  }

  /** Ends the transaction after an error, and gives the connection back or closes it. */
  async rollBack(error: unknown): Promise<void> {
    // A connection inside a transaction of the application stays as it is.
    if (isForeignTransaction(error)) return this.release()
    // One that belongs to the application stays open, and so would its transaction: every later one would be refused.
    if (this.#isOfPool && isOfConnection(error)) return this.discard()
    await this.finish(ROLLBACK)
  }

  /** Sends the last statement of a transaction, and gives the connection back. Never rejects. */
  async finish(sql: string): Promise<void> {
    try {
      await this.send(sql)
      this.release()
    } catch {
      this.discard()
    }
  }

  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#cancel()
    this.#onEnd()
    return true
  }
}
