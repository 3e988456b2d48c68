// Opens PostgreSQL as the database of the service.

import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { postgresStore } from 'sluice/postgres'
import { ServerError } from '../../errors.ts'
import type { DatabaseOptions, OpenedDatabase } from '../database.ts'
import { checkVersion } from '../sql/record-tables.ts'
import { sqlAuditTrail } from '../sql/sql-audit-log.ts'
import { SqlDatabase } from '../sql/sql-database.ts'
import { sqlFleet } from '../sql/sql-fleet.ts'
import { ChangeListener } from './change-listener.ts'
import { cutLater } from './end-connection.ts'
import { PostgresDriver } from './postgres-driver.ts'

/** Connections for counters. */
const CONNECTIONS = 10

const CONNECT_MS = 2000

const RETRY_MS = 500

export async function openPostgres(url: string, { onError, onChange }: DatabaseOptions): Promise<OpenedDatabase> {
  const config: PoolConfig = {
    connectionString: url,
    application_name: 'sluice',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  }
  const driver = new PostgresDriver(config, (error) => onError(plainError(error)))
  const listener = new ChangeListener({ config, onChange })
  const counters = new Pool({ ...config, max: CONNECTIONS })
  const clients = new Set<PoolClient>()
  counters.on('error', (error) => onError(plainError(error)))
  counters.on('connect', (client) => clients.add(client))
  counters.on('remove', (client) => clients.delete(client))
  const store = postgresStore(counters)
  let isClosed = false
  return {
    records: new SqlDatabase(driver),
    audit: sqlAuditTrail(driver),
    fleet: sqlFleet(driver),
    store,
    size: () => undefined,
    evictions: () => undefined,
    async connect() {
      while (!isClosed) {
        try {
          await checkVersion(driver)
          listener.start()
          return
        } catch (error) {
          if (error instanceof ServerError && error.code === 'ERR_DATA_VERSION') throw error
          onError(plainError(error))
          await pause(RETRY_MS, undefined, { ref: false })
        }
      }
    },
    async close() {
      isClosed = true
      await listener.close()
      await store.close()
      cutLater(clients)
      await Promise.all([driver.close(), counters.end()])
    },
  }
}

/** Errors of the client have the connection as a property, which does not belong into the log. */
function plainError(error: unknown): Error {
  const { message, code, syscall } = (error instanceof ServerError ? error.cause : error) as NodeJS.ErrnoException
  return Object.assign(new Error(message), code !== undefined && { code }, syscall !== undefined && { syscall })
}
