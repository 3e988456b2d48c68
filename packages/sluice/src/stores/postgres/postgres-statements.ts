// The statements of a transaction. Each is a text of its own, or a call of a statement that the session has prepared.
// Every function and operator is named with its schema: a search_path that puts another schema first changes nothing.

import { sha256 } from '../../engines/sha256.ts'

/** Milliseconds since the epoch by the server's clock, at the moment of evaluation. Time zones do not matter. */
export const NOW_MS =
  'pg_catalog.floor(EXTRACT(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8'

/** Locks a row that exists, and writes nothing. */
const LOCK_EXISTING = 'ON CONFLICT (name) DO UPDATE SET ends_at = kept.ends_at WHERE false'

interface Template {
  /** Types of the arguments. */
  readonly types: string
  sql(table: string, args: readonly string[]): string
}

/** Statements over one row need no list and no order, and take half the time. */
const TEMPLATES = {
  lockOne: {
    types: 'text',
    sql: (table, [name]) => `INSERT INTO ${table} AS kept (name, value, ends_at) VALUES (${name}, '{}', 0) ${LOCK_EXISTING}`,
  },
  lockMany: {
    types: 'text[]',
    sql: (table, [names]) => `INSERT INTO ${table} AS kept (name, value, ends_at) \
SELECT given.name, '{}'::pg_catalog.float8[], 0 FROM pg_catalog.unnest(${names}) AS given (name) \
ORDER BY given.name COLLATE pg_catalog."C" ${LOCK_EXISTING}`,
  },
  readOne: {
    types: 'text',
    sql: (table, [name]) => `SELECT pg_catalog.concat_ws(' ', ${NOW_MS}, name, value::pg_catalog.text) \
FROM ${table} WHERE name OPERATOR(pg_catalog.=) ${name}`,
  },
  readMany: {
    types: 'text[]',
    sql: (table, [names]) => `SELECT pg_catalog.concat_ws(' ', ${NOW_MS}, \
pg_catalog.string_agg(pg_catalog.concat(name, ' ', value::pg_catalog.text), ' ')) \
FROM ${table} WHERE name OPERATOR(pg_catalog.=) ANY (${names})`,
  },
  updateOne: {
    types: 'text, text, int8',
    sql: (table, [name, value, endsAt]) => `UPDATE ${table} SET value = ${value}::pg_catalog.float8[], ends_at = ${endsAt} \
WHERE name OPERATOR(pg_catalog.=) ${name}`,
  },
  updateMany: {
    types: 'text[], text[], int8[]',
    // With several arguments, unnest is a part of the grammar and no function of the search_path.
    sql: (table, [names, values, ends]) => `UPDATE ${table} AS kept \
SET value = given.value::pg_catalog.float8[], ends_at = given.ends_at \
FROM unnest(${names}, ${values}, ${ends}) AS given (name, value, ends_at) WHERE kept.name OPERATOR(pg_catalog.=) given.name`,
  },
  deleteMany: {
    types: 'text[]',
    sql: (table, [names]) => `DELETE FROM ${table} WHERE name OPERATOR(pg_catalog.=) ANY (${names})`,
  },
} satisfies Readonly<Record<string, Template>>

type StatementName = keyof typeof TEMPLATES

const NAMES = Object.keys(TEMPLATES) as StatementName[]

/** Writes the call of a statement, from its name and its arguments as SQL. */
export type WriteStatement = (name: StatementName, ...args: readonly string[]) => string

/** Statements of one table that sessions prepare. Planning them for each call takes longer than the call. */
export interface PreparedStatements {
  /** Different for different texts, so that a session never runs a statement of another table or release. */
  readonly id: string
  /** Prepares all statements. */
  readonly text: string
  readonly write: WriteStatement
}

export interface TableStatements {
  readonly asTexts: WriteStatement
  readonly prepared: PreparedStatements
}

/** `table` is the name of the table, in quotes. */
export function statementsOf(table: string): TableStatements {
  const argumentsOf = ({ types }: Template): string[] => types.split(',').map((_, i) => `$${i + 1}`)
  const texts = NAMES.map((name) => TEMPLATES[name].sql(table, argumentsOf(TEMPLATES[name])))
  const id = `sluice_${sha256(new TextEncoder().encode(texts.join('\n'))).slice(0, 16)}`
  const text = NAMES.map((name, i) => `PREPARE ${id}_${name} (${TEMPLATES[name].types}) AS ${texts[i]}`).join(';')
  return {
    asTexts: (name, ...args) => TEMPLATES[name].sql(table, args),
    prepared: { id, text, write: (name, ...args) => `EXECUTE ${id}_${name} (${args.join(', ')})` },
  }
}
