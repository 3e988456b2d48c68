// Adapters for the Postgres clients that people use. No client is imported.
// Every text without parameters goes by the simple protocol, in which several statements are one round trip.

import { SluiceError, show } from '../../core/errors.ts'
import { isPgClient, isPgPool, type PgClient, type PgPool, pgClient, pgPool } from './pg-client.ts'
import { isPglite, type PgliteClient, pglite } from './pglite-client.ts'
import { isPostgresJs, type PostgresJsClient, postgresJs } from './postgres-js-client.ts'
import type { Prepared } from './short-hits.ts'
import type { Exchange } from './two-round-trips.ts'

/** A pool or a client of `pg`, the function `sql` of postgres.js, or a PGlite database. */
export type PostgresClient = PgPool | PgClient | PostgresJsClient | PgliteClient

/** One row: its values by the names of its columns, in the order of the columns. */
export type Row = Readonly<Record<string, unknown>>

/** The use of a connection by one statement. */
export interface ConnectionUse {
  /** True if nobody waits for the statement any more. It is not sent then. */
  isOver?: boolean
  /** Closes the connection, if the client can. Set by the adapter when the statement has a connection. */
  drop?: () => void
}

export interface PostgresConnections {
  /** True if the client has one connection only, so that transactions wait for each other. */
  readonly isSingle: boolean
  /**
   * Runs a text outside of transactions. Resolves to the rows of its last statement. Without parameters the text may hold several
   * statements, which are one transaction and one round trip. With parameters it holds one statement, and postgres.js takes two
   * round trips.
   */
  query(text: string, parameters?: readonly unknown[], use?: ConnectionUse): Promise<readonly Row[]>
  /**
   * Runs a prepared statement outside of transactions, in one round trip after its first use on a connection. Omitted if the client
   * does not prepare statements.
   */
  readonly prepared?: (statement: Prepared, parameters: readonly string[], use: ConnectionUse) => Promise<readonly Row[]>
  /** Runs one transaction, in two round trips, on a connection that nobody else uses meanwhile. */
  transaction(exchange: Exchange): Promise<void>
}

/** Finds the adapter of a client by its methods. Throws ERR_OPTION if there is none. */
export function postgresClient(client: PostgresClient): PostgresConnections {
  if (isPostgresJs(client)) return postgresJs(client)
  if (isPglite(client)) return pglite(client)
  if (isPgPool(client)) return pgPool(client)
  if (isPgClient(client)) return pgClient(client)
  const got = typeof (client as PromiseLike<unknown> | undefined)?.then === 'function' ? 'a promise: await it' : show(client)
  throw new SluiceError(
    'ERR_OPTION',
    `postgresStore takes a Pool or a Client of pg, the function sql of postgres.js (3.4 or later), or a PGlite, got ${got}`,
    { option: 'client', value: client },
  )
}
