// Programs of SQL statements: generators that yield statements and get their rows. One program runs on a driver that answers at once
// (SQLite) and on one that answers later (PostgreSQL).
// Invariant: a program runs in one transaction, so all its changes are made or none. It may run again after a failure.

export type SqlValue = string | number | null

export interface Statement {
  /** The values are marked by `?`, in their order. */
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** Large numbers may be texts. */
export type Row = Readonly<Record<string, string | number | bigint | null>>

export type Program<T> = Generator<Statement, T, readonly Row[]>

/**
 * `read`: all statements see the same state. `write`: writing programs run one after the other. `own`: writes rows that do not depend on
 * others. It need not wait for writing programs, and may be lost with a crash of the database.
 */
export type Access = 'read' | 'write' | 'own'

/** A database that runs programs. */
export interface SqlDriver {
  /** Its name in messages. */
  readonly title: string
  /** An expression for the database's time in milliseconds. */
  readonly nowMs: string
  /** A statement that tells other instances of a change, when the transaction ends. */
  readonly announce?: string
  /** Runs a program in a transaction. Throws ERR_DATA_WRITE, or the ServerError of the program. */
  transact<T>(access: Access, program: () => Program<T>): Promise<T>
  /** Describes a failure, as the start of a sentence. */
  troubleOf(error: unknown): string
}

/** Yields one statement. */
export function* ask(text: string, ...values: SqlValue[]): Program<readonly Row[]> {
  return yield { text, values }
}

/** Most rows of one statement. Databases limit the number of values. */
const ROWS_A_STATEMENT = 500

/** Yields INSERT statements. `end` is the part after the rows, such as ON CONFLICT. */
export function* insertAll(into: string, rows: readonly (readonly SqlValue[])[], end = ''): Program<void> {
  for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
    const some = rows.slice(at, at + ROWS_A_STATEMENT)
    const marks = some.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')
    yield* ask(`INSERT INTO ${into} VALUES ${marks} ${end}`, ...some.flat())
  }
}

/** Yields DELETE statements for a list of texts. */
export function* deleteAll(from: string, column: string, texts: readonly string[]): Program<void> {
  for (let at = 0; at < texts.length; at += ROWS_A_STATEMENT) {
    const some = texts.slice(at, at + ROWS_A_STATEMENT)
    yield* ask(`DELETE FROM ${from} AND ${column} IN (${some.map(() => '?').join(', ')})`, ...some)
  }
}

/** Writes any text in characters that every database stores: NUL and lone surrogates are escaped. Plain names stay as they are. */
export function safeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The inverse of `safeText`. Returns a text of others, which is not escaped, as it is. */
export function fromSafeText(safe: string): string {
  try {
    return JSON.parse(`"${safe}"`)
  } catch {
    return safe
  }
}
