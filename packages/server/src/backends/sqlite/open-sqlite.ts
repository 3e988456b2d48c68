// Opens a SQLite file as the database of the service.

import type { DatabaseOptions, OpenedDatabase } from '../database.ts'
import { checkVersion } from '../sql/record-tables.ts'
import { sqlAuditTrail } from '../sql/sql-audit-log.ts'
import { SqlDatabase } from '../sql/sql-database.ts'
import { sqlFleet } from '../sql/sql-fleet.ts'
import { sqliteCounters } from './sqlite-counters.ts'
import { SqliteDriver } from './sqlite-driver.ts'
import { SqliteFile } from './sqlite-file.ts'

/** Throws ERR_DATA_WRITE if the file cannot be used, and ERR_CONFIG without a driver. */
export async function openSqlite(path: string, { maxKeys, timeoutMs }: DatabaseOptions): Promise<OpenedDatabase> {
  const file = await SqliteFile.open(path)
  try {
    const driver = new SqliteDriver(file)
    return {
      records: new SqlDatabase(driver),
      audit: sqlAuditTrail(driver),
      fleet: sqlFleet(driver),
      ...sqliteCounters(file, { maxKeys, timeoutMs }),
      connect: () => checkVersion(driver),
      close: async () => file.close(),
    }
  } catch (error) {
    file.close()
    throw error
  }
}
