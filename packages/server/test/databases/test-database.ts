// Databases for tests of behaviour that is the same on all of them: real servers and real files, and the ways to damage what they hold.

import { onTestFinished } from 'vitest'
import type { OpenedDatabase } from '../../src/backends/database.ts'
import { type DatabaseAddress, openDatabase } from '../../src/backends/databases.ts'
import { readStore } from '../../src/config/store-address.ts'
import type { RecordKind } from '../../src/records.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { RedisDatabase } from './redis-database.ts'
import { SqliteTestDatabase } from './sqlite-database.ts'

/** Parts of what a database holds. */
export type Part = 'policies' | 'keys' | 'changes' | 'notice'

/** Returns to a saved state: of everything, or of the policies alone. */
export type Return = (part?: 'policies') => Promise<void>

export interface TestDatabase {
  /** Its name in messages. */
  readonly title: string
  /** Its address for --store. */
  readonly store: string
  /** Removes all records, as if the database was new. */
  clear(): Promise<void>
  /** Saves all records for a later return: an older backup, or a replica that lags. */
  snapshot(): Promise<Return>
  /** Saves the claim of a restore for a later return. */
  snapshotClaim(): Promise<Return>
  removeRecord(kind: RecordKind, id: string): Promise<void>
  remove(part: Part): Promise<void>
  /** Writes the text of a record, which may be invalid. */
  write(kind: RecordKind, id: string, text: string): Promise<void>
  /** Adds a change. `kind` is its number, which may be invalid. */
  addChange(number: number, kind: number, id: string, text: string): Promise<void>
  ids(kind: RecordKind): Promise<readonly string[]>
  count(what: 'marks' | 'all'): Promise<number>
  lastChange(): Promise<number>
  /** Time until the notice of lost changes ends. */
  noticeMs(): Promise<number>
  /** Makes the text of an instance on the board of the fleet older. */
  ageFleet(id: string, ms: number): Promise<void>
  /** Ids on the board of the fleet, also of forgotten instances. */
  fleetIds(): Promise<readonly string[]>
  /** Ends it, as a crash would; a file is made unusable. */
  kill(): Promise<void>
  /** Starts it again after `kill`. What was committed is there. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts a database. Redis keeps what was committed through a crash only if `isDurable`. */
type StartDatabase = (options?: { readonly isDurable?: boolean }) => Promise<TestDatabase>

export const TEST_DATABASES: Readonly<Record<'redis' | 'postgres' | 'sqlite', StartDatabase>> = {
  redis: (options) => RedisDatabase.start(options),
  postgres: () => PostgresDatabase.start(),
  sqlite: () => SqliteTestDatabase.start(),
}

export const DATABASE_NAMES = ['redis', 'postgres', 'sqlite'] as const

/** Opens a database as an instance does, and closes it when the test has finished. */
export async function openConnected({ store }: Pick<TestDatabase, 'store'>, onChange = (): void => {}): Promise<OpenedDatabase> {
  const address = readStore(store) as DatabaseAddress
  const database = await openDatabase(address, { onError: () => {}, onChange, maxKeys: 1000, timeoutMs: 1000 })
  onTestFinished(() => database.close())
  await database.connect()
  return database
}
