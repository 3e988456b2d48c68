// Runs programs of SQL statements on PostgreSQL, with a deadline.
// Invariant: writing programs of all instances run one after the other. A program whose connection ends before it sent COMMIT has
// changed nothing. After that its outcome is unknown, until another writing program has run. An instance that stops in the middle of a program blocks the others for a limited time.

import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { messageOf, ServerError } from '../../errors.ts'
import { makeTables } from '../sql/record-tables.ts'
import type { Access, Program, Row, SqlDriver, Statement } from '../sql/sql-program.ts'
import { cutLater } from './end-connection.ts'
import { isGone, postgresTrouble, sqlStateOf } from './postgres-answers.ts'

/** The channel on which instances tell each other of changes. */
export const CHANNEL = 'sluice_records'

/** Deadline for a writing program, and for each statement of a reading one, which may read many pages. */
const DEADLINE_MS = 2000

/** Time after which the server ends the transaction of an instance that sends nothing more. */
const IDLE_MS = 5000

/** Polls, changes and the audit log need few connections. */
const CONNECTIONS = 3

/** Number of the lock that writing programs take. */
const LOCK = 6_214_871_903

const LIMITS = `SET LOCAL statement_timeout = ${DEADLINE_MS}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`

const BEGIN: Readonly<Record<Access, string>> = {
  read: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${LIMITS}`,
  // Each statement after the lock sees everything that was committed before it.
  write: `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${LIMITS}; SELECT pg_advisory_xact_lock(${LOCK})`,
  own: `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${LIMITS}; SET LOCAL synchronous_commit = off`,
}

const UNDEFINED_TABLE = '42P01'

export class PostgresDriver implements SqlDriver {
  readonly title = 'PostgreSQL'
  readonly nowMs = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
  readonly announce = `SELECT pg_notify('${CHANNEL}', '')`
  readonly troubleOf = postgresTrouble
  readonly #pool: Pool
  readonly #clients = new Set<PoolClient>()

  /** `onError` is called if an idle connection ends. */
  constructor(config: PoolConfig, onError: (error: Error) => void) {
    this.#pool = new Pool({ ...config, max: CONNECTIONS })
    this.#pool.on('error', onError)
    this.#pool.on('connect', (client) => this.#clients.add(client))
    this.#pool.on('remove', (client) => this.#clients.delete(client))
  }

  async transact<T>(access: Access, program: () => Program<T>): Promise<T> {
    try {
      try {
        return await this.#attempt(access, program())
      } catch (error) {
        if (sqlStateOf(error) !== UNDEFINED_TABLE) throw error
        await this.#attempt('write', makeTables())
        return await this.#attempt(access, program())
      }
    } catch (error) {
      if (error instanceof ServerError) throw error
      throw failure('ERR_DATA_WRITE', error)
    }
  }

  async close(): Promise<void> {
    cutLater(this.#clients)
    await this.#pool.end()
  }

  async #attempt<T>(access: Access, program: Program<T>): Promise<T> {
    const client = await this.#pool.connect()
    // Without a listener, an error of a connection in use would end the process. The query fails with it.
    client.on('error', ignore)
    const progress = { isCommitting: false }
    const work = run(client, access, program, progress)
    try {
      const result = await (access === 'read' ? work : beforeDeadline(work))
      client.off('error', ignore)
      client.release()
      return result
    } catch (error) {
      work.catch(ignore)
      // The server rolls back when the connection ends.
      client.release(true)
      cutLater([client])
      throw progress.isCommitting && access === 'write' && isGone(error) ? failure('ERR_DATA_UNKNOWN', error) : error
    }
  }
}

function failure(code: 'ERR_DATA_WRITE' | 'ERR_DATA_UNKNOWN', cause: unknown): ServerError {
  return new ServerError(code, `PostgreSQL could not be asked: ${messageOf(cause)}`, { cause })
}

function ignore(): void {}

/** Progress of a program. */
interface Progress {
  /** True once COMMIT was sent. */
  isCommitting: boolean
}

async function run<T>(client: PoolClient, access: Access, program: Program<T>, progress: Progress): Promise<T> {
  const answered = <V>(answer: Promise<V>): Promise<V> => (access === 'read' ? beforeDeadline(answer) : answer)
  await answered(client.query(BEGIN[access]))
  let step = program.next()
  while (!step.done) step = program.next(await answered(execute(client, step.value)))
  progress.isCommitting = true
  await answered(client.query('COMMIT'))
  return step.value
}

async function execute(client: PoolClient, { text, values }: Statement): Promise<readonly Row[]> {
  let number = 0
  const numbered = text.replace(/\?/g, () => {
    number += 1
    return `$${number}`
  })
  return (await client.query(numbered, [...values])).rows
}

async function beforeDeadline<T>(work: Promise<T>): Promise<T> {
  const deadline = new AbortController()
  const late = pause(DEADLINE_MS, undefined, { ref: false, signal: deadline.signal }).then(
    () => Promise.reject(new Error(`no answer within ${DEADLINE_MS} ms`)),
    () => new Promise<never>(() => {}),
  )
  try {
    return await Promise.race([work, late])
  } finally {
    deadline.abort()
  }
}
