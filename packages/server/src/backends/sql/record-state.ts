// Reads the state of the records in a SQL database, and writes facts that end.

import { KINDS, type Marks, type Position, readChange, readRecords, type WrittenRecord } from '../records/found-records.ts'
import type { Counts, NumberedChange } from '../records/records-database.ts'
import { ask, fromSafeText, type Program, type Row } from './sql-program.ts'

export interface PositionState {
  readonly position: Position
  /** The notice of an instance that knows of lost changes, or empty. */
  readonly lost: string
}

export interface State extends PositionState {
  readonly counts: Counts
  /** True if there are fewer records than after the last change. */
  readonly isShort: boolean
}

/** Names of facts. */
export const ORIGIN = 'origin'
export const NOTICE = 'lost'
export const CLAIM = 'restoring'

const COUNTS = `(SELECT count(*) FROM sluice_records WHERE kind = 1) AS policies,
      (SELECT count(*) FROM sluice_records WHERE kind = 2) AS keys,`

/** Reads the state without the numbers of records. Counting takes long if there are many. */
export function* readPosition(nowMs: string): Program<PositionState> {
  const { row, newest } = yield* readRows('', nowMs)
  return positionOf(row, newest)
}

export function* readState(nowMs: string): Program<State> {
  const { row, newest } = yield* readRows(COUNTS, nowMs)
  const counts = { policy: Number(row.policies), key: Number(row.keys) }
  const isShort = newest !== undefined && (counts.policy < Number(newest.policy_count) || counts.key < Number(newest.key_count))
  return { ...positionOf(row, newest), counts, isShort }
}

function* readRows(counts: string, nowMs: string): Program<{ readonly row: Row; readonly newest: Row | undefined }> {
  const [row] = yield* ask(
    `SELECT ${counts}
      (SELECT mark FROM sluice_marks ORDER BY number DESC, mark DESC LIMIT 1) AS mark,
      (SELECT value FROM sluice_facts WHERE name = ?) AS origin,
      (SELECT value FROM sluice_facts WHERE name = ? AND ends_at > ${nowMs}) AS lost`,
    ORIGIN,
    NOTICE,
  )
  const [newest] = yield* ask('SELECT number, policy_count, key_count FROM sluice_changes ORDER BY number DESC LIMIT 1')
  return { row, newest }
}

function positionOf(row: Row, newest: Row | undefined): PositionState {
  const position = { last: Number(newest?.number ?? 0), mark: textOf(row.mark), origin: textOf(row.origin) }
  return { position, lost: textOf(row.lost) }
}

/** Records that one statement reads. A million records take longer than a statement may. */
export const RECORDS_A_PAGE = 10_000

/** Returns all records. */
export function* readTables(): Program<ReturnType<typeof readRecords>> {
  const written: WrittenRecord[] = []
  for (let after: readonly [kind: number, id: string] | undefined = [0, '']; after !== undefined; ) {
    const page: readonly Row[] = yield* ask(
      'SELECT kind, id, value FROM sluice_records WHERE (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?',
      ...after,
      RECORDS_A_PAGE,
    )
    for (const { kind: number, id, value } of page) {
      const kind = KINDS[Number(number) - 1]
      if (kind !== undefined) written.push({ kind, id: fromSafeText(textOf(id)), text: textOf(value) })
    }
    const last = page.length < RECORDS_A_PAGE ? undefined : page.at(-1)
    after = last && [Number(last.kind), textOf(last.id)]
  }
  return readRecords(written)
}

/** Returns the changes after a number, in their order. */
export function* readChanges(after: number): Program<readonly NumberedChange[]> {
  const rows = yield* ask('SELECT number, kind, id, value FROM sluice_changes WHERE number > ? ORDER BY number', after)
  return rows.map(({ number, kind, id, value }) => ({
    number: Number(number),
    change: readChange(KINDS[Number(kind) - 1], fromSafeText(textOf(id)), value === null ? undefined : textOf(value)),
  }))
}

/** Returns the marks of changes after a number, oldest first. */
export function* readMarks(after: number): Program<Marks> {
  const rows = yield* ask('SELECT mark, number FROM sluice_marks WHERE number > ? ORDER BY number, mark', after)
  return new Map(rows.map(({ mark, number }) => [textOf(mark), Number(number)]))
}

/** Returns the value of a fact that has not ended. */
export function* readFact(name: string, nowMs: string): Program<string | undefined> {
  const [row] = yield* ask(`SELECT value FROM sluice_facts WHERE name = ? AND (ends_at IS NULL OR ends_at > ${nowMs})`, name)
  return row === undefined ? undefined : textOf(row.value)
}

/** Writes a fact that ends after `forMs`. */
export function* writeFact(name: string, value: string, forMs: number, nowMs: string): Program<void> {
  yield* ask(
    `INSERT INTO sluice_facts (name, value, ends_at) VALUES (?, ?, ${nowMs} + ${Math.round(forMs)})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, ends_at = excluded.ends_at`,
    name,
    value,
  )
}

export function* removeFacts(...names: string[]): Program<void> {
  yield* ask(`DELETE FROM sluice_facts WHERE name IN (${names.map(() => '?').join(', ')})`, ...names)
}

export function textOf(value: Row[string] | undefined): string {
  return value === null || value === undefined ? '' : String(value)
}
