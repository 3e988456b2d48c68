// Deletes rows that have ended. An index on their ends would make every hit slower, so the table is walked, a few blocks at a time.
// Invariants: one step reads at most BLOCKS blocks. It waits for nobody: rows that others have locked are skipped.

import type { Sweep } from '../../engines/sweeper.ts'
import type { PostgresConnections } from './postgres-client.ts'
import { NOW_MS } from './postgres-statements.ts'
import { queryInTime } from './timely-query.ts'

/** Half a megabyte: some milliseconds of work, and some thousand rows. */
export const BLOCKS = 64

export interface TableSweepOptions {
  readonly connections: PostgresConnections
  /** Resolves to the name of the table, in quotes. */
  readonly table: () => Promise<string>
  /** Time by another clock than the server's. */
  readonly nowMs: (() => number) | undefined
}

interface Step {
  readonly deleted: number
  /** Number of blocks of the table. */
  readonly blocks: number
}

type Bounds = Parameters<Sweep>[0]

export class TableSweep {
  readonly #options: TableSweepOptions
  /** Each process begins elsewhere, so that several do not walk behind each other. */
  #next: number | undefined

  constructor(options: TableSweepOptions) {
    this.#options = options
  }

  /** Walks the next few blocks. Returns the number of deleted rows. */
  async few(bounds: Bounds): Promise<number> {
    return (await this.#step(bounds)).deleted
  }

  /** Walks the whole table once, or until `rows` rows are deleted. Returns the number of deleted rows. */
  async all({ rows, endedForMs }: Bounds): Promise<number> {
    let deleted = 0
    let walked = 0
    for (;;) {
      const step = await this.#step({ rows: rows - deleted, endedForMs })
      deleted += step.deleted
      walked += BLOCKS
      // The first and the last step of a round may share blocks.
      if (deleted === rows || walked >= step.blocks + BLOCKS) return deleted
    }
  }

  async #step(bounds: Bounds): Promise<Step> {
    const { connections, table, nowMs } = this.#options
    const name = await table()
    this.#next ??= Math.floor(Math.random() * (await this.#countBlocks(name)))
    const from = this.#next
    const [row] = await queryInTime(connections, sweepSql(name, from, bounds, nowMs?.()))
    const [deleted, blocks] = String(Object.values(row)[0]).split(' ').map(Number)
    // A step that deleted as many rows as it may has perhaps left some in its blocks.
    if (deleted < bounds.rows) this.#next = from + BLOCKS >= blocks ? 0 : from + BLOCKS
    return { deleted, blocks }
  }

  async #countBlocks(table: string): Promise<number> {
    const [row] = await queryInTime(this.#options.connections, `SELECT ${blocksOf(table)}::pg_catalog.text`)
    return Number(Object.values(row)[0])
  }
}

function sweepSql(table: string, from: number, { rows, endedForMs }: Bounds, nowMs: number | undefined): string {
  const until = `(SELECT ${nowMs === undefined ? NOW_MS : `${nowMs}::pg_catalog.int8`} OPERATOR(pg_catalog.-) ${endedForMs})`
  return `WITH ended AS MATERIALIZED (\
SELECT ctid FROM ${table} WHERE ctid OPERATOR(pg_catalog.>=) '(${from},0)' AND ctid OPERATOR(pg_catalog.<) '(${from + BLOCKS},0)' \
AND ends_at OPERATOR(pg_catalog.<=) ${until} LIMIT ${rows} FOR UPDATE SKIP LOCKED\
), gone AS (\
DELETE FROM ${table} WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT ctid FROM ended)) RETURNING 1\
) SELECT pg_catalog.concat_ws(' ', (SELECT pg_catalog.count(*) FROM gone), ${blocksOf(table)})`
}

function blocksOf(table: string): string {
  const literal = `'${table.replaceAll("'", "''")}'`
  return `(pg_catalog.pg_relation_size(${literal}::pg_catalog.regclass) OPERATOR(pg_catalog./) \
pg_catalog.current_setting('block_size')::pg_catalog.int8)`
}
