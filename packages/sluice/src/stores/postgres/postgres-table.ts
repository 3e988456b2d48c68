// The table of states: its name, its SQL, its version, and its making on demand.
// Invariant: after the first call every statement names the schema. A connection with another search_path finds the same table.

import { mustBe, SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { storeError } from '../../engines/store-errors.ts'
import type { PostgresConnections, Row } from './postgres-client.ts'
import { postgresErrorKind } from './postgres-errors.ts'
import { queryInTime } from './timely-query.ts'

export interface PostgresSchemaOptions {
  /** Name of the table, with or without its schema. Default: `sluice_states`. */
  readonly table?: string
  /** True for a table that Postgres empties after a crash, and does not write ahead. Default: false. */
  readonly unlogged?: boolean
}

export interface TableOptions extends PostgresSchemaOptions {
  /** False if the table must exist already. Default: true. */
  readonly createTable?: boolean
}

export const DEFAULT_TABLE = 'sluice_states'

/**
 * The version of the table's columns and values. It is in the name of the primary key, so that table and version are made by one
 * statement.
 */
const VERSION = 1

/** The key of the advisory lock under which the table and the functions are made: any number that is always the same. */
export const MAKING = 0x51_75_1c_e0

/** Postgres cuts names after 63 bytes. The name of the primary key is a little longer than that of the table. */
const LONGEST_TABLE = 50

const PART = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/

interface TableName {
  readonly schema: string | undefined
  readonly table: string
}

/** Returns the SQL that makes the table, for people who run it themselves. It does nothing if the table exists. */
export function postgresSchema(options: PostgresSchemaOptions = {}): string {
  checkOptions('postgresSchema', options, ['table', 'unlogged'])
  const { table = DEFAULT_TABLE, unlogged = false } = options
  if (typeof unlogged !== 'boolean') throw mustBe('ERR_OPTION', 'unlogged', 'true or false', unlogged)
  const name = parseName(table)
  return `CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE IF NOT EXISTS ${quoted(name)} (
  name text COLLATE "C" NOT NULL,
  value float8[] NOT NULL,
  ends_at bigint NOT NULL,
  CONSTRAINT "${name.table}_v${VERSION}" PRIMARY KEY (name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
`
}

export class PostgresTable {
  readonly #connections: PostgresConnections
  readonly #options: TableOptions
  readonly #name: TableName
  #ready: Promise<string> | undefined

  constructor(connections: PostgresConnections, options: TableOptions) {
    const { table = DEFAULT_TABLE, createTable = true } = options
    if (typeof createTable !== 'boolean') throw mustBe('ERR_OPTION', 'createTable', 'true or false', createTable)
    postgresSchema({ table, ...(options.unlogged !== undefined && { unlogged: options.unlogged }) })
    this.#connections = connections
    this.#options = options
    this.#name = parseName(table)
  }

  /** Resolves to the name with its schema, in quotes. The first call finds or makes the table. After an error the next call tries again. */
  ready(): Promise<string> {
    this.#ready ??= this.#findOrMake().catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /** Called when the table is missing: the next call of `ready` looks for it again. */
  forget(): void {
    this.#ready = undefined
  }

  async #findOrMake(): Promise<string> {
    const found = await this.#find()
    if (found !== undefined) return found
    const { table, unlogged, createTable = true } = this.#options
    if (!createTable) throw storeError('fatal', `there is no table ${quoted(this.#name)}: run the SQL of postgresSchema()`)
    await this.#make(postgresSchema({ ...(table !== undefined && { table }), ...(unlogged !== undefined && { unlogged }) }))
    const made = await this.#find()
    if (made === undefined)
      throw storeError('fatal', `the table ${quoted(this.#name)} was made, and cannot be found: name its schema`)
    return made
  }

  /** Many processes may start at once: all but one wait for the lock, and then find the table. */
  async #make(sql: string): Promise<void> {
    try {
      await queryInTime(this.#connections, `SELECT pg_catalog.pg_advisory_xact_lock(${MAKING});${sql}`)
    } catch (error) {
      if (postgresErrorKind(error) !== 'fatal') throw error
      const message = `the table ${quoted(this.#name)} does not exist and cannot be made: run the SQL of postgresSchema() as its owner`
      throw new SluiceError('ERR_STORE_FATAL', message, { cause: error })
    }
  }

  async #find(): Promise<string | undefined> {
    const [row] = await queryInTime(this.#connections, findSql(this.#name))
    if (row === undefined) return undefined
    const [schema, persistence, primaryKey] = Object.values(row as Row).map(String)
    const name = quoted({ schema, table: this.#name.table })
    const expected = `${this.#name.table}_v${VERSION}`
    if (primaryKey !== expected) {
      const got = /_v(\d+)$/.exec(primaryKey)?.[1]
      const words = got === undefined ? 'was not made by sluice' : `has version ${got}, and this release needs version ${VERSION}`
      throw storeError('fatal', `the table ${name} ${words}: use another table, or drop it`)
    }
    const { unlogged } = this.#options
    if (unlogged !== undefined && unlogged !== (persistence === 'u')) {
      const is = persistence === 'u' ? 'unlogged' : 'logged'
      throw storeError(
        'fatal',
        `the table ${name} is ${is}, and unlogged is ${unlogged}: change the table with ALTER TABLE, or the option`,
      )
    }
    return name
  }
}

/** Returns the name of a table with its schema, in quotes. Throws ERR_OPTION if there is no schema. */
export function qualifiedName(text: unknown): string {
  const name = parseName(text)
  if (name.schema === undefined)
    throw mustBe('ERR_OPTION', 'table', "a name with its schema, such as 'public.sluice_states'", text)
  return quoted(name)
}

/** Without a schema, the table is the one that the connection's search_path finds. */
function findSql(name: TableName): string {
  return `SELECT spaces.nspname::pg_catalog.text, tables.relpersistence::pg_catalog.text, keys.conname::pg_catalog.text
FROM pg_catalog.pg_class AS tables
JOIN pg_catalog.pg_namespace AS spaces ON spaces.oid OPERATOR(pg_catalog.=) tables.relnamespace
LEFT JOIN pg_catalog.pg_constraint AS keys
ON keys.conrelid OPERATOR(pg_catalog.=) tables.oid AND keys.contype OPERATOR(pg_catalog.=) 'p'
WHERE tables.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('${quoted(name)}')`
}

function parseName(text: unknown): TableName {
  const parts = typeof text === 'string' ? text.split('.') : []
  const table = parts[parts.length - 1]
  if (parts.length === 0 || parts.length > 2 || !parts.every((part) => PART.test(part)) || table.length > LONGEST_TABLE) {
    const need = `a name such as 'sluice_states' or 'schema.sluice_states': letters, digits and underscores, at most ${LONGEST_TABLE} of them`
    throw new SluiceError('ERR_OPTION', `table must be ${need}, got ${show(text)}`, { option: 'table', value: text })
  }
  return { schema: parts.length === 2 ? parts[0] : undefined, table }
}

/** Characters that could end a quoted name do not pass `parseName`. A schema that Postgres named may hold any. */
function quoted({ schema, table }: TableName): string {
  return schema === undefined ? `"${table}"` : `"${schema.replaceAll('"', '""')}"."${table}"`
}
