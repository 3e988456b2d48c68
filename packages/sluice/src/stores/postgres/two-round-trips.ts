// One transaction in two round trips: the first begins it, locks and reads; the second writes and commits. The first transaction of a
// session takes one more, which prepares the statements.
// Invariants: nothing waits between the first answer and the second text. A connection in an unknown condition is never used again.

import { systemClock } from '../../engines/system-clock.ts'
import type { Row } from './postgres-client.ts'
import { isServerRefusal } from './postgres-errors.ts'
import type { TableStatements, WriteStatement } from './postgres-statements.ts'
import type { PreparedSessions } from './prepared-sessions.ts'

export interface Exchange {
  readonly statements: TableStatements
  /** Returns the statements of the first round trip. Only the last one returns rows. */
  first(write: WriteStatement): string
  /** Gets these rows. Returns the statements that write, or undefined to roll back. If it throws, the transaction is rolled back. */
  next(rows: readonly Row[], write: WriteStatement): string | undefined
  /** Time after which the connection is dropped. A transaction that has no connection by then is not begun. */
  readonly longestMs: number
}

/** A connection that one transaction has for itself. */
export interface HeldConnection {
  /** Stands for the session on the server; undefined if it is not known, and nothing can be prepared in it. */
  readonly session?: object
  /** Runs the statements of a text. Resolves to the rows of the last one. */
  run(text: string): Promise<readonly Row[]>
  /** Gives the connection back. */
  release(): void
  /** Closes the connection, if the client can. Does nothing after `release`. */
  drop(): void
}

/** Rows are read after their locks are held. At a higher level a statement would read the snapshot of the first one. */
export const LEVEL = 'ISOLATION LEVEL READ COMMITTED'

export async function twoRoundTrips(
  hold: () => Promise<HeldConnection>,
  exchange: Exchange,
  sessions?: PreparedSessions,
): Promise<void> {
  let isOver = false
  let held: HeldConnection | undefined
  const cancel = systemClock.after(exchange.longestMs, () => {
    isOver = true
    held?.drop()
  })
  try {
    held = await hold()
    if (isOver) {
      held.release()
      throw tooLate()
    }
    await transact(held, exchange, sessions)
  } finally {
    cancel()
  }
}

async function transact(held: HeldConnection, { statements, first, next }: Exchange, sessions?: PreparedSessions): Promise<void> {
  const { asTexts, prepared } = statements
  let isAnswered = false
  try {
    const isPrepared = sessions !== undefined && (sessions.has(held, prepared) || (await sessions.prepare(held, prepared)))
    const write = isPrepared ? prepared.write : asTexts
    const rows = await held.run(`BEGIN ${LEVEL};${first(write)}`)
    isAnswered = true
    const writes = next(rows, write)
    isAnswered = false
    await held.run(writes === undefined ? 'ROLLBACK' : `${writes};COMMIT`)
  } catch (error) {
    sessions?.failed(error)
    if (isAnswered || isServerRefusal(error)) rollBack(held)
    else held.drop()
    throw error
  }
  held.release()
}

/** Ends a failed transaction. Its caller does not wait for it. */
function rollBack(held: HeldConnection): void {
  held.run('ROLLBACK').then(
    () => held.release(),
    () => held.drop(),
  )
}

/** Makes the error of a transaction that got its connection too late. */
export function tooLate(): Error {
  return new Error('no connection was free in time')
}
