// Adapter for PGlite: Postgres in this process, with one connection.

import { systemClock } from '../../engines/system-clock.ts'
import type { PostgresConnections, Row } from './postgres-client.ts'
import { LEVEL, tooLate } from './two-round-trips.ts'

interface PgliteResult {
  readonly rows: readonly unknown[]
}

interface PgliteQueries {
  exec(text: string): Promise<readonly PgliteResult[]>
}

export interface PgliteClient extends PgliteQueries {
  query(text: string, parameters?: never[]): Promise<PgliteResult>
  transaction<V>(body: (transaction: PgliteTransaction) => Promise<V>): Promise<V>
}

export interface PgliteTransaction extends PgliteQueries {
  rollback(): Promise<void>
}

export function isPglite(client: object): client is PgliteClient {
  const { exec, query, transaction } = (client ?? {}) as Partial<PgliteClient>
  return [exec, query, transaction].every((method) => typeof method === 'function')
}

export function pglite(database: PgliteClient): PostgresConnections {
  return {
    isSingle: true,
    async query(text, parameters) {
      if (parameters === undefined) return lastRows(await database.exec(text))
      return (await database.query(text, parameters as never[])).rows as readonly Row[]
    },
    async transaction({ statements: { asTexts }, first, next, longestMs }) {
      let isOver = false
      const cancel = systemClock.after(longestMs, () => {
        isOver = true
      })
      try {
        await database.transaction(async (transaction) => {
          if (isOver) throw tooLate()
          const rows = lastRows(await transaction.exec(`SET TRANSACTION ${LEVEL};${first(asTexts)}`))
          const writes = next(rows, asTexts)
          if (writes === undefined) await transaction.rollback()
          else await transaction.exec(writes)
        })
      } finally {
        cancel()
      }
    },
  }
}

function lastRows(results: readonly PgliteResult[]): readonly Row[] {
  return results[results.length - 1].rows as readonly Row[]
}
