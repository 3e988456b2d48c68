// The table of states in an object's SQLite database: one row for each state.
// Rows have an id besides their name, so that a search can begin at any row. Young rows have high ids.

/** As much of `ctx.storage.sql` as the table uses. */
export interface ObjectSql {
  exec(query: string, ...values: (string | number | Uint8Array)[]): { toArray(): Record<string, unknown>[] }
}

/** A row without name and value. */
export interface RowView {
  readonly id: number
  readonly endsAt: number
  /** The used share of the limit, from 0 to MOST_SHARE. */
  readonly share: number
}

/** A row to write. */
export interface Row {
  readonly name: string
  readonly value: Uint8Array
  readonly endsAt: number
  readonly share: number
}

/** The share of a state that has used its whole limit. */
export const MOST_SHARE = 254

/** The name carries the version of the table. */
const TABLE = 'sluice_states_1'

export class ObjectTable {
  readonly #sql: ObjectSql
  /** Number of rows. Undefined if it is not known: at first, and after a transaction was rolled back. */
  #count: number | undefined

  constructor(sql: ObjectSql) {
    this.#sql = sql
    sql.exec(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value BLOB NOT NULL, ends_at INTEGER NOT NULL, share INTEGER NOT NULL
      )`,
    )
  }

  /** Number of rows. It is counted once in the life of an object. */
  get count(): number {
    this.#count ??= this.#sql.exec(`SELECT count(*) AS rows FROM ${TABLE}`).toArray()[0].rows as number
    return this.#count
  }

  /** Called after a transaction was rolled back. */
  forgetCount(): void {
    this.#count = undefined
  }

  /** Returns the bytes of a state; undefined if there is no row. */
  read(name: string): Uint8Array | undefined {
    const rows = this.#sql.exec(`SELECT value FROM ${TABLE} WHERE name = ?`, name).toArray()
    return rows.length === 0 ? undefined : new Uint8Array(rows[0].value as ArrayBuffer)
  }

  insert({ name, value, endsAt, share }: Row): void {
    const { count } = this
    this.#sql.exec(`INSERT INTO ${TABLE} (name, value, ends_at, share) VALUES (?, ?, ?, ?)`, name, value, endsAt, share)
    this.#count = count + 1
  }

  update({ name, value, endsAt, share }: Row): void {
    this.#sql.exec(`UPDATE ${TABLE} SET value = ?, ends_at = ?, share = ? WHERE name = ?`, value, endsAt, share, name)
  }

  /** Deletes a row that exists. */
  remove(name: string): void {
    const { count } = this
    this.#sql.exec(`DELETE FROM ${TABLE} WHERE name = ?`, name)
    this.#count = count - 1
  }

  /** Deletes rows that exist. */
  removeAll(rows: readonly RowView[]): void {
    const { count } = this
    for (const { id } of rows) this.#sql.exec(`DELETE FROM ${TABLE} WHERE id = ?`, id)
    this.#count = count - rows.length
  }

  /** Returns up to `most` rows with higher ids, in the order of their ids. */
  rowsAfter(id: number, most: number): readonly RowView[] {
    const query = `SELECT id, ends_at AS endsAt, share FROM ${TABLE} WHERE id > ? ORDER BY id LIMIT ?`
    return this.#sql.exec(query, id, most).toArray() as unknown as RowView[]
  }

  /** Returns the lowest and the highest id; undefined if there is no row. */
  idRange(): readonly [first: number, last: number] | undefined {
    const query = `SELECT (SELECT min(id) FROM ${TABLE}) AS first, (SELECT max(id) FROM ${TABLE}) AS last`
    const { first, last } = this.#sql.exec(query).toArray()[0]
    return first === null ? undefined : [first as number, last as number]
  }
}
