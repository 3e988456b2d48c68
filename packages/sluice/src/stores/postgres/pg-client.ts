// Adapters for `pg`: a pool, and a lone client.

import type { ConnectionUse, PostgresConnections, Row } from './postgres-client.ts'
import { isServerRefusal } from './postgres-errors.ts'
import { sessionsOf } from './prepared-sessions.ts'
import { type HeldConnection, tooLate, twoRoundTrips } from './two-round-trips.ts'

interface Emitter {
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** A client of `pg`. The store needs it for itself: other statements on it would run inside of the store's transactions. */
export interface PgClient extends Emitter {
  query(text: string, values?: never[]): Promise<unknown>
  connect(): Promise<unknown>
}

export interface PgPool extends Emitter {
  query(text: string, values?: never[]): Promise<unknown>
  connect(callback: (error: Error | undefined, client: PgPoolClient | undefined) => void): void
  readonly totalCount: number
}

export interface PgPoolClient extends Emitter {
  query(text: string, values?: never[]): Promise<unknown>
  release(isBroken?: boolean): void
  off(event: 'error', listener: (error: Error) => void): unknown
}

export function isPgPool(client: object): client is PgPool {
  return isPgClient(client) && typeof (client as { totalCount?: unknown }).totalCount === 'number'
}

export function isPgClient(client: object): client is PgClient {
  const { query, connect, on } = (client ?? {}) as Partial<PgClient>
  return typeof query === 'function' && typeof connect === 'function' && typeof on === 'function'
}

export function pgPool(pool: PgPool): PostgresConnections {
  listen(pool)
  const sessions = sessionsOf(pool)
  return {
    isSingle: false,
    query: (text, parameters, use) => (use === undefined ? ask(pool, text, parameters) : askAndDrop(pool, text, use)),
    prepared: (statement, values, use) => askAndDrop(pool, { ...statement, values }, use),
    transaction: (exchange) => twoRoundTrips(() => holdFromPool(pool), exchange, sessions),
  }
}

export function pgClient(client: PgClient): PostgresConnections {
  listen(client)
  const sessions = sessionsOf(client)
  return {
    isSingle: true,
    query: (text, parameters, use) => askAlone(client, () => ask(client, text, parameters), use),
    prepared: (statement, values, use) => askAlone(client, () => ask(client, { ...statement, values }), use),
    transaction: (exchange) => twoRoundTrips(() => holdClient(client), exchange, sessions),
  }
}

/** A connection of a pool. It runs prepared statements, too. */
interface PooledConnection extends HeldConnection {
  run(text: string | PgStatement): Promise<readonly Row[]>
}

async function holdFromPool(pool: PgPool): Promise<PooledConnection> {
  const client = await connect(pool)
  let isHeld = true
  return {
    session: client,
    run: (text) => ask(client, text),
    release() {
      if (!isHeld) return
      isHeld = false
      client.release()
      client.off('error', ignore)
    },
    drop() {
      if (!isHeld) return
      isHeld = false
      // The listener stays: a connection that is being closed may still report errors.
      client.release(true)
    },
  }
}

/**
 * Takes a client out of the pool. The pool listens to idle clients only, and without a listener an error of the connection would end the
 * process. A connection may fail in the moment in which it is made, so the listener is added before a promise could resolve.
 */
function connect(pool: PgPool): Promise<PgPoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      client.on('error', ignore)
      resolve(client)
    })
  })
}

/** Runs a statement on a connection that can be dropped meanwhile. The pool would close it after any error of the statement. */
async function askAndDrop(pool: PgPool, text: string | PgStatement, use: ConnectionUse): Promise<readonly Row[]> {
  const held = await holdFromPool(pool)
  if (use.isOver) {
    held.release()
    throw tooLate()
  }
  use.drop = () => held.drop()
  try {
    const rows = await held.run(text)
    held.release()
    return rows
  } catch (error) {
    if (isServerRefusal(error)) held.release()
    else held.drop()
    throw error
  }
}

/** A prepared statement with its parameters. */
interface PgStatement {
  readonly name: string
  readonly text: string
  readonly values: readonly string[]
}

interface LoneClient {
  /** Resolves at the end of the last transaction that was asked for. */
  lastEnd: Promise<void>
  /** True if the last transaction may still be open. */
  isUnclean: boolean
}

/** Several stores may share a client. */
const loneClients = new WeakMap<object, LoneClient>()

/**
 * Waits for the client. It is its owner's, so the store does not close it; a broken one fails every query by itself.
 * Invariant: the next transaction is not sent before the last text of this one is answered, also if nobody waits for the answer.
 */
async function holdClient(client: PgClient): Promise<HeldConnection> {
  const lone = loneClients.get(client) ?? { lastEnd: Promise.resolve(), isUnclean: false }
  loneClients.set(client, lone)
  const before = lone.lastEnd
  let end = ignore
  lone.lastEnd = new Promise<void>((resolve) => {
    end = resolve
  })
  await before
  let isRunning = false
  return {
    session: client,
    async run(text) {
      const start = lone.isUnclean ? 'ROLLBACK;' : ''
      lone.isUnclean = false
      isRunning = true
      try {
        return await ask(client, start + text)
      } finally {
        isRunning = false
      }
    },
    release: () => end(),
    drop() {
      if (isRunning) return
      lone.isUnclean = true
      end()
    },
  }
}

/** Runs a statement between the transactions of a lone client. Sends nothing if its caller has given up meanwhile. */
async function askAlone(
  client: PgClient,
  send: () => Promise<readonly Row[]>,
  use: ConnectionUse | undefined,
): Promise<readonly Row[]> {
  const held = await holdClient(client)
  try {
    if (use?.isOver) throw tooLate()
    return await send()
  } finally {
    held.release()
  }
}

interface PgResult {
  readonly rows: readonly Row[]
}

async function ask(
  client: Pick<PgClient, 'query'>,
  text: string | PgStatement,
  parameters?: readonly unknown[],
): Promise<readonly Row[]> {
  const results = (await client.query(text as string, parameters as never[] | undefined)) as PgResult | readonly PgResult[]
  return 'rows' in results ? results.rows : results[results.length - 1].rows
}

/** Clients that have a listener already. Many stores on one client add only one. */
const listened = new WeakSet<object>()

/** Without a listener, an error of an idle connection ends the process. */
function listen(client: Emitter): void {
  if (listened.has(client)) return
  listened.add(client)
  client.on('error', ignore)
}

function ignore(): void {}
