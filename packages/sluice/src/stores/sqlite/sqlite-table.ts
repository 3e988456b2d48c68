// The tables in SQLite: a row for each state, and one row with the version, the seed and the number of states. Every method is one or a
// few statements in the caller's transaction.
// Invariants: the number of states is right after every transaction of a store, for all processes on the file. Rows are sorted by a
// hash under a secret seed, so that rows next to each other are a random sample, whatever keys clients choose. All rows have been placed
// by the seed in the file.

import { decodeCells, encodeCells } from '../../engines/state-codec.ts'
import { storeError } from '../../engines/store-errors.ts'
import { KeyHash } from '../memory/key-hash.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite-database.ts'
import { SeedLost } from './sqlite-errors.ts'

/** Version of the tables. */
const VERSION = 1

/** The share of a state that has used its whole limit, in per cent. */
export const FULL = 100

/** Bounds of the hash, a signed 32-bit number. */
const LEAST_HASH = -(2 ** 31)
const MOST_HASH = 2 ** 31 - 1

/** The facts about a row that decide about its eviction. */
export interface RowView {
  readonly hash: number
  readonly name: string
  readonly endsAt: number
  readonly share: number
  /** Time at which the row was inserted. */
  readonly since: number
}

export interface NewRow {
  readonly cells: Float64Array
  readonly share: number
  readonly nowMs: number
}

/** Makes the tables if they do not exist. Runs in a transaction. `table` is an identifier. `seed` is used if the file has none. */
export function makeTables(database: SqliteDatabase, table: string, seed: Int32Array): void {
  const found = database.prepare('SELECT 1 FROM sqlite_master WHERE type = ? AND name = ? COLLATE NOCASE').get('table', table)
  database.exec(`
    CREATE TABLE IF NOT EXISTS "${table}" (
      hash INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,
      ends_at INTEGER NOT NULL, share INTEGER NOT NULL, since INTEGER NOT NULL,
      PRIMARY KEY (hash, name)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS "${table}_meta" (
      only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL, seed0 INTEGER NOT NULL, seed1 INTEGER NOT NULL,
      states INTEGER NOT NULL
    );`)
  if (found == null) database.exec(`UPDATE "${table}_meta" SET states = 0`)
  if (database.prepare(`SELECT 1 FROM "${table}_meta"`).get() != null) return
  database.exec(`INSERT INTO "${table}_meta" SELECT 1, ${VERSION}, ${seed.join()}, count(*) FROM "${table}"`)
}

/** Bits of the hash that come from the whole name. The upper bits come from the key. */
const NAME_BITS = 0xff

interface Statements {
  readonly first: SqliteStatement
  readonly clear: SqliteStatement
  readonly read: SqliteStatement
  readonly insert: SqliteStatement
  readonly update: SqliteStatement
  readonly remove: SqliteStatement
  readonly sample: SqliteStatement
  readonly nth: SqliteStatement
  readonly sweep: SqliteStatement
  readonly removed: SqliteStatement
  readonly count: SqliteStatement
  readonly addToCount: SqliteStatement
  readonly recount: SqliteStatement
}

export class SqliteTable {
  /** The seed of the hashes. */
  readonly seed: Int32Array
  readonly #sql: Statements
  readonly #keyHash = new KeyHash()
  #lastName = ''
  #lastHash = 0

  constructor(database: SqliteDatabase, table: string) {
    const meta = database.prepare(`SELECT version, seed0, seed1 FROM "${table}_meta"`).get() as Record<string, number | bigint>
    if (Number(meta.version) !== VERSION) {
      throw storeError('fatal', `the table ${table} has version ${meta.version}, and this version of Sluice needs ${VERSION}`)
    }
    this.seed = Int32Array.of(Number(meta.seed0), Number(meta.seed1))
    this.#keyHash.setSeed(this.seed)
    const ours = `WHERE seed0 = ${this.seed[0]} AND seed1 = ${this.seed[1]}`
    this.#sql = {
      first: database.prepare(`SELECT hash, name FROM "${table}" LIMIT 1`),
      clear: database.prepare(`DELETE FROM "${table}"`),
      read: database.prepare(`SELECT value FROM "${table}" WHERE hash = ? AND name = ?`),
      insert: database.prepare(`INSERT INTO "${table}" (hash, name, value, ends_at, share, since) VALUES (?, ?, ?, ?, ?, ?)`),
      update: database.prepare(`UPDATE "${table}" SET value = ?, ends_at = ?, share = ? WHERE hash = ? AND name = ?`),
      remove: database.prepare(`DELETE FROM "${table}" WHERE hash = ? AND name = ?`),
      sample: database.prepare(`
        SELECT hash, name, ends_at AS endsAt, share, since FROM "${table}" WHERE hash BETWEEN ? AND ? ORDER BY hash LIMIT ?`),
      nth: database.prepare(`SELECT hash FROM "${table}" WHERE hash > ? ORDER BY hash LIMIT 1 OFFSET ?`),
      sweep: database.prepare(`DELETE FROM "${table}" WHERE hash > ? AND hash <= ? AND ends_at <= ?`),
      removed: database.prepare('SELECT changes() AS changes'),
      count: database.prepare(`SELECT states FROM "${table}_meta" ${ours}`),
      addToCount: database.prepare(`UPDATE "${table}_meta" SET states = states + ? ${ours} RETURNING states`),
      recount: database.prepare(`UPDATE "${table}_meta" SET states = (SELECT count(*) FROM "${table}") ${ours} RETURNING states`),
    }
  }

  /** Deletes all states if they were placed by another seed, which nobody knows any more. Returns true if it did. */
  clearIfMisplaced(): boolean {
    const row = this.#sql.first.get() as { readonly hash: number | bigint; readonly name: string } | null | undefined
    if (row == null || Number(row.hash) === this.#hashOf(row.name)) return false
    this.#sql.clear.run()
    this.recount()
    return true
  }

  /** Number of states. */
  get count(): number {
    return statesOf(this.#sql.count.get())
  }

  /** Counts all rows anew. Returns their number. */
  recount(): number {
    return statesOf(this.#sql.recount.get())
  }

  read(name: string): Float64Array | undefined {
    const row = this.#sql.read.get(this.#hashOf(name), name) as { readonly value: Uint8Array } | null | undefined
    return row == null ? undefined : decodeCells(row.value, name)
  }

  /** Inserts a row, and returns the number of states. Invariant: there is no row with this name. */
  insert(name: string, { cells, share, nowMs }: NewRow): number {
    this.#sql.insert.run(this.#hashOf(name), name, encodeCells(cells), cells[0], percent(share), nowMs)
    return this.#addToCount(1)
  }

  /** Invariant: there is a row with this name. */
  update(name: string, cells: Float64Array, share: number): void {
    this.#sql.update.run(encodeCells(cells), cells[0], percent(share), this.#hashOf(name), name)
  }

  /** Removes a row, if it exists. */
  remove(name: string): void {
    this.#sql.remove.run(this.#hashOf(name), name)
    this.#subtractRemoved()
  }

  removeAll(rows: readonly RowView[]): void {
    for (const { hash, name } of rows) this.#sql.remove.run(hash, name)
    if (rows.length > 0) this.#addToCount(-rows.length)
  }

  /** Returns up to `most` rows next to each other, from the place `from` on. `from` is at least 0 and below 1. */
  sample(from: number, most: number): readonly RowView[] {
    const first = LEAST_HASH + Math.floor(from * 2 ** 32)
    const rows = this.#rowsBetween(first, MOST_HASH, most)
    if (rows.length === most || first === LEAST_HASH) return rows
    return [...rows, ...this.#rowsBetween(LEAST_HASH, first - 1, most - rows.length)]
  }

  /**
   * True if a sample lies so far apart that the table probably has less than a quarter of `states` rows: somebody else has deleted rows.
   * `rows` are the result of `sample(from, most)`.
   */
  hasFewerThan(states: number, rows: readonly RowView[], from: number, most: number): boolean {
    if (rows.length < most) return rows.length < states
    const first = LEAST_HASH + Math.floor(from * 2 ** 32)
    const last = rows[rows.length - 1].hash
    const span = last >= first ? last - first : last - first + 2 ** 32
    return span * states > 4 * most * 2 ** 32
  }

  /**
   * Looks at about `rows` rows after the hash `after`, and removes those that had ended at `endedMs`. Returns their number, and the
   * hash of the last row. There is none at the end of the table.
   */
  sweep(after: number, rows: number, endedMs: number): { readonly removed: number; readonly last: number | undefined } {
    const nth = this.#sql.nth.get(after, rows - 1) as { readonly hash: number | bigint } | null | undefined
    const last = nth == null ? undefined : Number(nth.hash)
    this.#sql.sweep.run(after, last ?? MOST_HASH, endedMs)
    return { removed: this.#subtractRemoved(), last }
  }

  /**
   * Returns the place of a name. The states of one key lie next to each other, mostly in one page of the file. If one key has hundreds
   * of states, they still have different places.
   */
  #hashOf(name: string): number {
    if (name !== this.#lastName) {
      const keyEnd = name.indexOf('|')
      const ofKey = this.#keyHash.hash(keyEnd < 0 ? name : name.slice(0, keyEnd))
      this.#lastName = name
      this.#lastHash = (ofKey & ~NAME_BITS) | (this.#keyHash.hash(name) & NAME_BITS)
    }
    return this.#lastHash
  }

  /** Subtracts the rows that the last statement has removed. Returns their number. */
  #subtractRemoved(): number {
    const removed = Number((this.#sql.removed.get() as { readonly changes: number | bigint }).changes)
    if (removed > 0) this.#addToCount(-removed)
    return removed
  }

  #addToCount(rows: number): number {
    return statesOf(this.#sql.addToCount.get(rows))
  }

  #rowsBetween(first: number, last: number, most: number): readonly RowView[] {
    const rows = this.#sql.sample.all(first, last, most) as readonly Record<keyof RowView, string | number | bigint>[]
    return rows.map(({ hash, name, endsAt, share, since }) => ({
      hash: Number(hash),
      name: name as string,
      endsAt: Number(endsAt),
      share: Number(share),
      since: Number(since),
    }))
  }
}

/** The place before all rows, for `sweep`. */
export const BEFORE_ALL = LEAST_HASH - 1

/** Every new state passes here. So a process whose seed is not the one of the file adds no state that others do not find. */
function statesOf(row: unknown): number {
  if (row == null) throw new SeedLost()
  return Number((row as { readonly states: number | bigint }).states)
}

function percent(share: number): number {
  return Math.floor(share * FULL)
}
