// A PostgreSQL server for tests.

import { type PostgresServer, startPostgres } from '../../../../test/servers/postgres-server.mjs'
import { SqlRecords } from './sql-records.ts'
import type { TestDatabase } from './test-database.ts'

export class PostgresDatabase extends SqlRecords implements TestDatabase {
  readonly title = 'PostgreSQL'
  readonly server: PostgresServer

  private constructor(server: PostgresServer) {
    super((statements) => server.query(statements.join(';\n')), '(extract(epoch FROM clock_timestamp()) * 1000)::bigint')
    this.server = server
  }

  static async start(): Promise<PostgresDatabase> {
    return new PostgresDatabase(await startPostgres())
  }

  get store(): string {
    return this.server.url
  }

  kill(): Promise<void> {
    return this.server.crash()
  }

  start(): Promise<void> {
    return this.server.start()
  }

  stop(): Promise<void> {
    return this.server.stop()
  }
}
