// The functions in Postgres that decide calls: their SQL, and their making on demand. Their names have a hash of their texts, so that
// processes with different releases share a table, each with functions of its own.

import { SluiceError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { sha256 } from '../../engines/sha256.ts'
import type { PostgresConnections } from './postgres-client.ts'
import { isNotAllowed } from './postgres-errors.ts'
import { MAKING, type PostgresTable, qualifiedName } from './postgres-table.ts'
import { CALLS, HELD_FUNCTIONS, RULE_FUNCTIONS, SINGLE, STATE } from './program/program.ts'
import { queryInTime } from './timely-query.ts'
import { LOCK_MS } from './transaction-mode.ts'

/** The names of our functions in the database, in quotes. */
export interface FunctionNames {
  /** Decides any calls. */
  readonly calls: string
  /** Decides one call with one charge. */
  readonly single: string
  /** False if transactions have a higher isolation level than READ COMMITTED by default. Then each statement reads an old snapshot. */
  readonly isReadCommitted: boolean
}

/** All functions. The one that decides calls is made last. */
const FUNCTIONS = [...Object.values(RULE_FUNCTIONS), ...HELD_FUNCTIONS, SINGLE, CALLS].map((text) => ({
  name: madeBy(text),
  text,
}))

/** Returns the name of the function that a text makes. */
function madeBy(text: string): string {
  return (/^CREATE FUNCTION @(\w+)/.exec(text) as RegExpExecArray)[1]
}

export interface PostgresFunctionsOptions {
  /** Name of the table with its schema. Default: `public.sluice_states`. */
  readonly table?: string
}

/** Returns the SQL that makes the functions, for people who run it themselves. It may be run again. The table must exist. */
export function postgresFunctions(options: PostgresFunctionsOptions = {}): string {
  checkOptions('postgresFunctions', options, ['table'])
  return functionsSql(qualifiedName(options.table ?? 'public.sluice_states'))
}

/** Returns the SQL of the functions for a table. Its name has a schema, and both are in quotes. */
function functionsSql(table: string): string {
  const type = nameIn(table, 'state')
  const texts = FUNCTIONS.map(({ text }) => text.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'))
  // There is no CREATE TYPE IF NOT EXISTS. A session that has looked for the type before may still believe that there is none.
  const makeType = `DO $make$ BEGIN
IF pg_catalog.to_regtype('${type.replaceAll("'", "''")}') IS NULL THEN
${STATE};
END IF;
EXCEPTION WHEN duplicate_object THEN NULL;
END $make$`
  return [makeType, ...texts].map((text) => `${named(text, table)};\n`).join('')
}

/** Replaces the names that begin with @. */
function named(text: string, table: string): string {
  const known: Readonly<Record<string, string>> = { table, lockMs: String(LOCK_MS) }
  return text.replace(/@(\w+)/g, (_, name: string) => known[name] ?? nameIn(table, name))
}

/** Returns a name of ours in the schema of the table. */
function nameIn(table: string, name: string): string {
  const dot = table.lastIndexOf('.')
  return `${table.slice(0, dot)}."sluice_${name}_${versionOf(table.slice(dot + 1))}"`
}

const versions = new Map<string, string>()

/** Returns a text that is different for each table of a schema, and for each text of the functions. */
function versionOf(table: string): string {
  let version = versions.get(table)
  if (version === undefined) {
    const text = [STATE, ...FUNCTIONS.map((each) => each.text), table, LOCK_MS].join('\n')
    version = sha256(new TextEncoder().encode(text)).slice(0, 12)
    versions.set(table, version)
  }
  return version
}

export class PostgresFunctions {
  readonly #connections: PostgresConnections
  readonly #table: PostgresTable
  readonly #mayCreate: boolean
  #ready: Promise<FunctionNames> | undefined
  #names: FunctionNames | undefined

  constructor(connections: PostgresConnections, table: PostgresTable, mayCreate: boolean) {
    this.#connections = connections
    this.#table = table
    this.#mayCreate = mayCreate
  }

  /** The names of the functions, after `ready` has found them. */
  get names(): FunctionNames | undefined {
    return this.#names
  }

  /**
   * Resolves to the names of the functions. The first call finds or makes them. After an error the next call tries
   * again. Rejects with ERR_STORE_FATAL if the role may not make functions.
   */
  ready(): Promise<FunctionNames> {
    this.#ready ??= this.#findOrMake().then(
      (names) => {
        this.#names = names
        return names
      },
      (error: unknown) => {
        this.#ready = undefined
        throw error
      },
    )
    return this.#ready
  }

  /**
   * Called when one of the functions is missing: the next call of `ready` looks for them again. Does nothing if that has happened since
   * `names` were found, because many calls find out at once.
   */
  forget(names: FunctionNames): void {
    if (this.#names !== names) return
    this.#ready = undefined
    this.#names = undefined
  }

  async #findOrMake(): Promise<FunctionNames> {
    const table = await this.#table.ready()
    const isReadCommitted = await this.#isReadCommitted()
    const names = { calls: nameIn(table, 'calls'), single: nameIn(table, 'single'), isReadCommitted }
    if (await this.#areUsable(table)) return names
    if (!this.#mayCreate) throw notMade(undefined)
    try {
      // Many processes may start at once: all but one wait for the lock.
      await queryInTime(this.#connections, `SELECT pg_catalog.pg_advisory_xact_lock(${MAKING});${functionsSql(table)}`)
    } catch (error) {
      // The process that had the lock may have another role, whose functions this one may use, but not replace.
      if (!isNotAllowed(error)) throw error
      if (!(await this.#areUsable(table))) throw notMade(error)
    }
    return names
  }

  async #isReadCommitted(): Promise<boolean> {
    const [row] = await queryInTime(this.#connections, "SELECT pg_catalog.current_setting('default_transaction_isolation')")
    return Object.values(row)[0] === 'read committed'
  }

  /** True if all functions and their type exist, and the role may execute them. Databases may take this right away from everybody but the owner. */
  async #areUsable(table: string): Promise<boolean> {
    const text = (name: string) => `'${nameIn(table, name).replaceAll("'", "''")}'`
    const mayExecute = FUNCTIONS.map(
      ({ name }) => `COALESCE(pg_catalog.has_function_privilege(pg_catalog.to_regproc(${text(name)}), 'EXECUTE'), false)`,
    )
    const are = [`pg_catalog.to_regtype(${text('state')}) IS NOT NULL`, ...mayExecute].join(' AND ')
    const [row] = await queryInTime(this.#connections, `SELECT (${are})::pg_catalog.text`)
    return Object.values(row)[0] === 'true'
  }
}

const NOT_MADE = 'the functions do not exist and cannot be made: run the SQL of postgresFunctions() as the owner of the table'

function notMade(cause: unknown): SluiceError {
  return new SluiceError('ERR_STORE_FATAL', NOT_MADE, { cause, option: 'mode', value: 'function' })
}

/** True for the error of `ready` that stays the same however often it is called. */
export function isNotMade(error: unknown): boolean {
  return error instanceof SluiceError && error.option === 'mode'
}
