// Adapters for mysql2: a pool or a connection, of the promise API or the callback API. The package is not imported.

import { SluiceError, show } from '../../core/errors.ts'

/** The options of a query. They replace options of the pool that change the form of the answers. */
export interface MysqlQuery {
  readonly sql: string
  readonly rowsAsArray: true
  readonly nestTables: false
  readonly typeCast: (field: unknown, next: () => unknown) => unknown
}

/** A connection of mysql2's promise API. */
export interface MysqlConnection {
  query(query: MysqlQuery): Promise<unknown>
  execute(...args: never[]): unknown
}

/** A pool of mysql2's promise API. */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection & { release(): void; destroy(): void }>
}

/** A pool or a connection of mysql2's callback API. */
export interface MysqlCallbackClient {
  promise(): MysqlPool | MysqlConnection
}

export type MysqlClient = MysqlPool | MysqlConnection | MysqlCallbackClient

/** The rows of one SELECT, each as the list of its values. */
export type Rows = readonly (readonly unknown[])[]

/** A connection that one transaction uses alone. */
export interface Session {
  /** Sends one text. Resolves to the rows of each SELECT in it, in their order. */
  send(sql: string): Promise<readonly Rows[]>
  /** True if one text may hold several statements. */
  readonly hasMultipleStatements: boolean
  /** Gives the connection back. */
  release(): void
  /** Closes the connection, if it is one of a pool. Its transaction is rolled back by the server. */
  discard(): void
}

export interface Sessions {
  readonly isPool: boolean
  /** Waits for a free connection. */
  open(): Promise<Session>
}

/** A query takes over the function of its pool unless it has one of its own. */
const FORM = { rowsAsArray: true, nestTables: false, typeCast: (_field: unknown, next: () => unknown) => next() } as const

/** Connections that have a listener already. */
const listened = new WeakSet<object>()

export function sessionsOf(given: MysqlClient): Sessions {
  const hasPromise = typeof (given as MysqlCallbackClient | undefined)?.promise === 'function'
  const client = hasPromise ? (given as MysqlCallbackClient).promise() : (given as MysqlPool | MysqlConnection)
  if (typeof (client as MysqlPool | undefined)?.getConnection === 'function') return pool(checkedPool(client as MysqlPool))
  if (typeof (client as MysqlConnection | undefined)?.query === 'function' && 'execute' in client) {
    return oneConnection(client as MysqlConnection)
  }
  const got =
    typeof (given as unknown as PromiseLike<unknown> | undefined)?.then === 'function' ? 'a promise: await it' : show(given)
  throw new SluiceError('ERR_OPTION', `mysqlStore takes a pool or a connection of mysql2, got ${got}`)
}

/** A cluster of pools takes a callback, and its caller would never get an answer. */
function checkedPool(client: MysqlPool): MysqlPool {
  if (client.getConnection.length === 0) return client
  throw new SluiceError('ERR_OPTION', "mysqlStore takes no cluster of pools: pass of('*') of a cluster of mysql2's promise API")
}

function pool(client: MysqlPool): Sessions {
  return {
    isPool: true,
    async open() {
      const connection = await connectionOf(client)
      const end = { release: () => connection.release(), discard: () => connection.destroy() }
      return { ...sessionOf(connection), ...end }
    },
  }
}

/** Transactions on one connection run one after another. */
function oneConnection(connection: MysqlConnection): Sessions {
  const session = sessionOf(connection)
  let last: Promise<void> = Promise.resolve()
  return {
    isPool: false,
    async open() {
      const before = last
      let release = (): void => {}
      last = new Promise((resolve) => {
        release = resolve
      })
      await before
      return { ...session, release, discard: release }
    },
  }
}

/**
 * Calls the callback API that lies beneath the promise API. The promise API notes the stack of every query, and makes an emitter for
 * every use of a connection, which takes longer than the rest of a query.
 */
function fromCallback<V extends unknown[]>(ask: (done: (error: unknown, ...answer: V) => void) => void): Promise<V> {
  return new Promise((resolve, reject) => {
    ask((error, ...answer) => (error ? reject(error) : resolve(answer)))
  })
}

type PoolConnection = Awaited<ReturnType<MysqlPool['getConnection']>>

interface InnerPool extends MysqlCallbackClient {
  getConnection(done: (error: unknown, connection: PoolConnection) => void): void
}

interface InnerConnection extends MysqlCallbackClient {
  query(query: MysqlQuery, done: (error: unknown, result: unknown, fields: unknown) => void): void
}

async function connectionOf(client: MysqlPool): Promise<PoolConnection> {
  const { pool } = client as { pool?: InnerPool }
  if (typeof pool?.promise !== 'function') return client.getConnection()
  const [connection] = await fromCallback<[PoolConnection]>((done) => pool.getConnection(done))
  return connection
}

function sessionOf(connection: MysqlConnection): Pick<Session, 'send' | 'hasMultipleStatements'> {
  const inner = (connection as { connection?: object }).connection ?? connection
  listenTo(inner)
  const hasCallbacks = typeof (inner as MysqlCallbackClient).promise === 'function'
  return {
    async send(sql) {
      const query = { sql, ...FORM }
      if (!hasCallbacks) return rowsIn(await connection.query(query))
      return rowsIn(await fromCallback((done) => (inner as InnerConnection).query(query, done)))
    },
    hasMultipleStatements: (inner as { config?: { multipleStatements?: unknown } }).config?.multipleStatements === true,
  }
}

/** Without a listener, an error of an idle connection ends the process. */
function listenTo(connection: object): void {
  if (listened.has(connection)) return
  listened.add(connection)
  ;(connection as { on?(event: 'error', listener: () => void): unknown }).on?.('error', () => {})
}

/**
 * Returns the rows of each SELECT. An answer is `[result, fields]`. If there are several results, both are lists, and a statement
 * without rows has undefined instead of fields.
 */
function rowsIn(answer: unknown): readonly Rows[] {
  const [result, fields] = answer as [unknown, unknown]
  if (!Array.isArray(result) || !Array.isArray(fields)) return []
  const isSeveral = fields[0] === undefined || Array.isArray(fields[0])
  return isSeveral ? result.filter((_, i) => Array.isArray(fields[i])) : [result]
}
