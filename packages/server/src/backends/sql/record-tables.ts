// The tables of the service in a SQL database. The statements work on PostgreSQL and on SQLite.
// Values and entries are JSON in text columns, because JSON columns refuse some texts that JSON may contain.

import { refuseNewer } from '../../files/file-version.ts'
import { ask, type Program, type SqlDriver } from './sql-program.ts'

/** Version of the tables. */
const VERSION = 1

export const TABLES: readonly string[] = [
  // Kind 1: policies. Kind 2: keys.
  'CREATE TABLE IF NOT EXISTS sluice_records (kind smallint NOT NULL, id text NOT NULL, value text NOT NULL, PRIMARY KEY (kind, id))',
  // The latest changes. Without a value, the record was deleted. The counts are the numbers of records after the commit.
  'CREATE TABLE IF NOT EXISTS sluice_changes (number bigint NOT NULL PRIMARY KEY, kind smallint NOT NULL, id text NOT NULL, value text, policy_count bigint NOT NULL, key_count bigint NOT NULL)',
  'CREATE TABLE IF NOT EXISTS sluice_marks (mark text NOT NULL PRIMARY KEY, number bigint NOT NULL)',
  'CREATE INDEX IF NOT EXISTS sluice_marks_by_number ON sluice_marks (number, mark)',
  // Single facts: origin, notice of lost changes, claims, version. A fact with an end is void from then on.
  'CREATE TABLE IF NOT EXISTS sluice_facts (name text NOT NULL PRIMARY KEY, value text NOT NULL, ends_at bigint)',
  'CREATE TABLE IF NOT EXISTS sluice_revoked (id text NOT NULL PRIMARY KEY, revoked_at bigint NOT NULL, ends_at bigint NOT NULL)',
  // Log 1: changes. Log 2: sign-ins.
  'CREATE TABLE IF NOT EXISTS sluice_audit (log smallint NOT NULL, number bigint NOT NULL, at_ms bigint NOT NULL, target text NOT NULL, entry text NOT NULL, PRIMARY KEY (log, number))',
  // One small text of each instance, which it replaces every few seconds.
  'CREATE TABLE IF NOT EXISTS sluice_fleet (id text NOT NULL PRIMARY KEY, at_ms bigint NOT NULL, text text NOT NULL)',
  'CREATE INDEX IF NOT EXISTS sluice_audit_by_time ON sluice_audit (log, at_ms)',
]

/** Makes the tables that do not exist. */
export function* makeTables(): Program<void> {
  for (const table of TABLES) yield* ask(table)
  yield* ask("INSERT INTO sluice_facts (name, value) VALUES ('version', ?) ON CONFLICT (name) DO NOTHING", String(VERSION))
}

/** Throws ERR_DATA_VERSION if a newer program made the tables. */
export async function checkVersion(driver: SqlDriver): Promise<void> {
  const [row] = await driver.transact('read', () => ask("SELECT value FROM sluice_facts WHERE name = 'version'"))
  if (row !== undefined) refuseNewer(`the tables in ${driver.title}`, Number(row.value), VERSION)
}
