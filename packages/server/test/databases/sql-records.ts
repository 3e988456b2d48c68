// Damages the records in a SQL database, for tests.

import { TABLES as MADE } from '../../src/backends/sql/record-tables.ts'
import type { RecordKind } from '../../src/records.ts'
import type { Part, Return } from './test-database.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

const TABLES = [
  'sluice_records',
  'sluice_changes',
  'sluice_marks',
  'sluice_facts',
  'sluice_revoked',
  'sluice_audit',
  'sluice_fleet',
]

const KEPT = TABLES.slice(0, 4)

const WHERE: Readonly<Record<Part, string>> = {
  policies: 'sluice_records WHERE kind = 1',
  keys: 'sluice_records WHERE kind = 2',
  changes: 'sluice_changes',
  notice: "sluice_facts WHERE name = 'lost'",
}

const numberOf = (kind: RecordKind): number => (kind === 'policy' ? 1 : 2)

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Executes statements. Returns the rows of the last one. */
export type RunStatements = (statements: readonly string[]) => Promise<Rows>

export class SqlRecords {
  readonly #runAll: RunStatements
  readonly #now: string

  /** `now` is an expression for the time in milliseconds. */
  constructor(run: RunStatements, now: string) {
    this.#runAll = run
    this.#now = now
  }

  /** Drops all tables. */
  async clear(): Promise<void> {
    await this.#runAll(TABLES.map((table) => `DROP TABLE IF EXISTS ${table}`))
  }

  async snapshot(): Promise<Return> {
    const copies = KEPT.map((table) => [
      `DROP TABLE IF EXISTS old_${table}`,
      `CREATE TABLE old_${table} AS SELECT * FROM ${table}`,
    ])
    await this.run(...copies.flat())
    return async (part) => {
      const back = KEPT.map((table) => {
        const where = table === 'sluice_facts' ? "WHERE name IN ('origin', 'version')" : ''
        return [`DELETE FROM ${table}`, `INSERT INTO ${table} SELECT * FROM old_${table} ${where}`]
      })
      const policies = [
        'DELETE FROM sluice_records WHERE kind = 1',
        'INSERT INTO sluice_records SELECT * FROM old_sluice_records WHERE kind = 1',
      ]
      await this.run(...(part === undefined ? [...back.flat(), 'DELETE FROM sluice_revoked'] : policies))
    }
  }

  async snapshotClaim(): Promise<Return> {
    const isClaim = "WHERE name = 'restoring'"
    await this.run('DROP TABLE IF EXISTS old_claim', `CREATE TABLE old_claim AS SELECT * FROM sluice_facts ${isClaim}`)
    return async () => {
      await this.run(`DELETE FROM sluice_facts ${isClaim}`, 'INSERT INTO sluice_facts SELECT * FROM old_claim')
    }
  }

  async removeRecord(kind: RecordKind, id: string): Promise<void> {
    await this.run(`DELETE FROM sluice_records WHERE kind = ${numberOf(kind)} AND id = ${quoted(id)}`)
  }

  /** Executes statements. Makes the tables first, because `clear` drops them. */
  run(...statements: readonly string[]): Promise<Rows> {
    return this.#runAll([...MADE, ...statements])
  }

  async remove(part: Part): Promise<void> {
    await this.run(`DELETE FROM ${WHERE[part]}`)
  }

  async write(kind: RecordKind, id: string, text: string): Promise<void> {
    await this.run(
      `INSERT INTO sluice_records (kind, id, value) VALUES (${numberOf(kind)}, ${quoted(id)}, ${quoted(text)}) ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value`,
    )
  }

  async addChange(number: number, kind: number, id: string, text: string): Promise<void> {
    await this.run(
      `INSERT INTO sluice_changes (number, kind, id, value, policy_count, key_count) VALUES (${number}, ${kind}, ${quoted(id)}, ${quoted(text)}, 0, 0)`,
    )
  }

  async ids(kind: RecordKind): Promise<readonly string[]> {
    const rows = await this.run(`SELECT id FROM sluice_records WHERE kind = ${numberOf(kind)}`)
    return rows.map(({ id }) => String(id))
  }

  async count(what: 'marks' | 'all'): Promise<number> {
    const tables = what === 'marks' ? ['sluice_marks'] : TABLES
    const counts = await Promise.all(tables.map((table) => this.run(`SELECT count(*) AS n FROM ${table}`)))
    return counts.reduce((sum, [{ n }]) => sum + Number(n), 0)
  }

  async lastChange(): Promise<number> {
    return Number((await this.run('SELECT max(number) AS n FROM sluice_changes'))[0].n)
  }

  async noticeMs(): Promise<number> {
    return Number((await this.run(`SELECT ends_at - ${this.#now} AS n FROM sluice_facts WHERE name = 'lost'`))[0].n)
  }

  async ageFleet(id: string, ms: number): Promise<void> {
    await this.run(`UPDATE sluice_fleet SET at_ms = at_ms - ${ms} WHERE id = ${quoted(id)}`)
  }

  async fleetIds(): Promise<readonly string[]> {
    return (await this.run('SELECT id FROM sluice_fleet')).map(({ id }) => String(id))
  }
}
