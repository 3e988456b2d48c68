// The table of the store, and the statements on it. Names and values are hexadecimal literals: no mode, character set or option of
// a connection changes their meaning.

import { mustBe, SluiceError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Sweep } from '../../engines/sweeper.ts'
import type { Change } from '../../engines/working-states.ts'

/** Version of the table's form, in its comment. */
const VERSION = 1
const COMMENT = `sluice ${VERSION}`

/** The longest name of a row, in bytes. */
export const LONGEST_NAME = 255

export interface MysqlSchemaOptions {
  /** Name of the table, with or without its database. Default: `sluice_states`. */
  readonly table?: string
}

/** Returns the statement that makes the table, for people who do not let the store make it. */
export function mysqlSchema(options: MysqlSchemaOptions = {}): string {
  checkOptions('mysqlSchema', options, ['table'])
  return new MysqlTable(options.table).schema
}

/** Letters are small, because servers differ in whether they keep the case of names. */
const TABLE_NAME = /^(?:([a-z0-9_]{1,64})\.)?([a-z0-9_]{1,64})$/

/** Milliseconds since the epoch. UTC_TIMESTAMP is the start of the statement, in UTC, so neither time zones nor DST change it. */
const NOW_MS = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

/** Holds for the next transaction only. Fails if a transaction is open. */
export const READ_COMMITTED = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** Statements that begin a transaction. */
export const BEGIN: readonly string[] = [READ_COMMITTED, 'START TRANSACTION']

/** The words after the first one override the session variable `completion_type`. */
export const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE'
export const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE'

export class MysqlTable {
  readonly name: string
  /** Statement that makes the table. */
  readonly schema: string
  /** Statement that selects the table's comment and storage engine. */
  readonly description: string
  /** Statement that counts the rows. */
  readonly count: string
  readonly #quoted: string

  constructor(table: unknown = 'sluice_states') {
    const [, database, name] = (typeof table === 'string' && TABLE_NAME.exec(table)) || []
    if (name === undefined) {
      const need =
        'up to 64 small letters, digits and underscores, after the name of a database and a dot if it is in another one'
      throw mustBe('ERR_OPTION', 'table', need, table)
    }
    this.name = table as string
    this.#quoted = database === undefined ? `\`${name}\`` : `\`${database}\`.\`${name}\``
    this.schema = `CREATE TABLE IF NOT EXISTS ${this.#quoted} (
  name VARBINARY(${LONGEST_NAME}) NOT NULL PRIMARY KEY,
  value LONGBLOB NOT NULL,
  ends_at BIGINT NOT NULL,
  KEY ends_at (ends_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = '${COMMENT}'`
    const schemaName = database === undefined ? 'DATABASE()' : `'${database}'`
    this.description =
      'SELECT TABLE_COMMENT, ENGINE FROM information_schema.TABLES ' +
      `WHERE TABLE_SCHEMA = ${schemaName} AND TABLE_NAME = '${name}' ORDER BY BINARY TABLE_NAME DESC LIMIT 1`
    this.count = `SELECT COUNT(*) FROM ${this.#quoted}`
  }

  /** Throws ERR_STORE_FATAL unless the description is that of a table of this version. */
  check([comment, engine]: readonly unknown[]): void {
    if (comment === COMMENT && String(engine).toLowerCase() === 'innodb') return
    const found = `the table ${this.name} is of the engine ${engine} and has the comment '${comment}'`
    const need = `this version of sluice needs InnoDB and '${COMMENT}'`
    throw new SluiceError('ERR_STORE_FATAL', `${found}; ${need}: choose another table`, { option: 'table', value: this.name })
  }

  /** Locks the rows that exist, in the order of their names, and selects them. */
  lock(names: readonly string[]): string {
    const from = `SELECT name, value FROM ${this.#quoted}`
    // One row by its key takes less of the server's time.
    if (names.length === 1) return `${from} WHERE name = ${hexOfName(names[0])} FOR UPDATE`
    // Without the index, a server might walk over a small table, and lock other rows on its way.
    return (
      `${from} FORCE INDEX (PRIMARY) WHERE name IN (${names.map(hexOfName)}) ` + `ORDER BY name LIMIT ${names.length} FOR UPDATE`
    )
  }

  /**
   * Statements that write the changes. A row that did not exist is inserted, and the statement fails if somebody else has made it
   * in the meantime.
   */
  write(changes: readonly Change[], exists: (name: string) => boolean): string[] {
    const sorted = [...changes].sort((one, other) => (one.name < other.name ? -1 : 1))
    const kept = sorted.filter(hasValue)
    const made = kept.filter(({ name }) => !exists(name))
    const updated = kept.filter(({ name }) => exists(name))
    const dropped = sorted.filter(({ value }) => value === undefined).map(({ name }) => hexOfName(name))
    const statements: string[] = []
    if (made.length > 0) statements.push(this.#insert(made))
    if (updated.length > 0) statements.push(this.#update(updated))
    if (dropped.length > 0) statements.push(`DELETE FROM ${this.#quoted} WHERE name IN (${dropped})`)
    return statements
  }

  /** Selects names of rows that have ended. Takes no locks. */
  ended({ rows, endedForMs }: Parameters<Sweep>[0], nowMs: number | undefined): string {
    return `SELECT name FROM ${this.#quoted} WHERE ends_at <= ${nowMs ?? NOW_MS} - ${endedForMs} ORDER BY ends_at LIMIT ${rows}`
  }

  /**
   * Deletes rows by their names, if they have still ended, and selects the number of deleted rows. The sum hides the index of ends_at
   * from the server: with it, rows would be locked in another order than by transactions.
   */
  sweep(names: readonly string[], endedForMs: number, nowMs: number | undefined): string[] {
    const condition = `name IN (${names.map(hexOfName)}) AND ends_at + 0 <= ${nowMs ?? NOW_MS} - ${endedForMs}`
    return [`DELETE FROM ${this.#quoted} WHERE ${condition}`, 'SELECT ROW_COUNT()']
  }

  #update(changes: readonly KeptChange[]): string {
    const [{ name, value, endsAt }] = changes
    if (changes.length > 1)
      return `${this.#insert(changes)} ON DUPLICATE KEY UPDATE value = VALUES(value), ends_at = VALUES(ends_at)`
    return `UPDATE ${this.#quoted} SET value = ${hexOf(value)}, ends_at = ${endsAt} WHERE name = ${hexOfName(name)}`
  }

  #insert(changes: readonly KeptChange[]): string {
    const rows = changes.map(({ name, value, endsAt }) => `(${hexOfName(name)},${hexOf(value)},${endsAt})`)
    return `INSERT INTO ${this.#quoted} (name, value, ends_at) VALUES ${rows}`
  }
}

/**
 * Selects the server's time in milliseconds, and the seconds by which the clock of this statement lags behind the true one. They
 * differ if the session variable `timestamp` is set.
 */
export const CLOCK = `SELECT ${NOW_MS} AS ms, TIMESTAMPDIFF(SECOND, NOW(), SYSDATE()) AS lag_seconds`

type KeptChange = Change & { readonly value: Uint8Array }

function hasValue(change: Change): change is KeptChange {
  return change.value !== undefined
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Names are ASCII. */
function hexOfName(name: string): string {
  let digits = ''
  for (let i = 0; i < name.length; i++) digits += HEX[name.charCodeAt(i)]
  return `X'${digits}'`
}

function hexOf(bytes: Uint8Array): string {
  let digits = ''
  for (const byte of bytes) digits += HEX[byte]
  return `X'${digits}'`
}

/** Returns the name in a column of bytes. */
export function nameIn(bytes: unknown): string {
  return String.fromCharCode(...(bytes as Uint8Array))
}
