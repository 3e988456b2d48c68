// A real PostgreSQL for the tests of a file, and every client that people use, connected to it.

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../test/servers/postgres-server.mjs'
import { createLimiter, type Limiter, type LimiterOptions, type Store } from '../../src/index.ts'
import type { PostgresClient } from '../../src/stores/postgres/postgres-client.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

export interface Connected {
  readonly client: PostgresClient
  /** Runs statements by the client's own means. */
  run(text: string): Promise<unknown>
  close(): Promise<unknown>
}

export function realPostgres(settings: Record<string, string> = {}): Later<PostgresServer> {
  return beforeTests(
    () => startPostgres(settings),
    (server) => server.stop(),
  )
}

export async function openPool(connectionString: string, options: pg.PoolConfig = {}): Promise<Connected & { client: pg.Pool }> {
  const client = new pg.Pool({ connectionString, ...options })
  return { client, run: (text) => client.query(text), close: () => client.end() }
}

/** Clients of a server, by the names of their packages. */
export const CLIENTS: Readonly<Record<string, (url: string) => Promise<Connected>>> = {
  'a pool of pg': (url) => openPool(url),
  async 'a client of pg'(connectionString) {
    const client = new pg.Client({ connectionString })
    await client.connect()
    return { client, run: (text) => client.query(text), close: () => client.end() }
  },
  async 'postgres.js'(url) {
    const client = postgres(url, { onnotice: () => {} })
    return { client, run: (text) => client.unsafe(text), close: () => client.end() }
  },
}

export async function openPglite(): Promise<Connected> {
  const client = await PGlite.create()
  return { client, run: (text) => client.exec(text), close: () => client.close() }
}

/** A client for the tests that follow. */
export function clientFor(open: () => Promise<Connected>): Later<Connected> {
  return beforeTests(open, (connected) => connected.close())
}

let tables = 0

export function freshTable(): string {
  return `test_${process.pid}_${tables++}`
}

/** A limiter that waits for its answers even on a busy machine. */
export function patientLimiter(rules: LimiterOptions['rules'], store: Store<'async'>): Limiter<'async'> {
  return createLimiter({ rules, store, failure: { timeoutMs: 20_000 } })
}
