// Writes records and the list of changes in a SQL database. Precondition: the transaction excludes other writers.

import type { Change } from '../../records.ts'
import { KINDS, type Marks, type Position } from '../records/found-records.ts'
import { type Counts, KEPT_CHANGES, KEPT_MARKS } from '../records/records-database.ts'
import { ORIGIN } from './record-state.ts'
import { ask, deleteAll, insertAll, type Program, safeText } from './sql-program.ts'

const numberOf = ({ kind }: Change): number => KINDS.indexOf(kind) + 1

const textOf = ({ value }: Change): string | null => (value === undefined ? null : JSON.stringify(value))

/** Writes the values of changed records. The last change of a record counts. */
export function* writeValues(changes: readonly Change[]): Program<void> {
  const latest = [...new Map(changes.map((change) => [`${change.kind} ${change.id}`, change])).values()]
  const written = latest.flatMap((change) => {
    const text = textOf(change)
    return text === null ? [] : [[numberOf(change), safeText(change.id), text]]
  })
  yield* insertAll('sluice_records (kind, id, value)', written, 'ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value')
  for (const [i, kind] of KINDS.entries()) {
    const gone = latest.filter((change) => change.kind === kind && change.value === undefined).map(({ id }) => safeText(id))
    yield* deleteAll(`sluice_records WHERE kind = ${i + 1}`, 'id', gone)
  }
}

/** Adds changes after `last` to the list, and removes the oldest. Returns the number of the last change. */
export function* addChanges(last: number, changes: readonly Change[]): Program<number> {
  const counts = yield* countRecords()
  const rows = changes.map((change, i) => [last + 1 + i, numberOf(change), safeText(change.id), textOf(change)] as const)
  const number = last + rows.length
  const some = rows.slice(-KEPT_CHANGES).map((row) => [...row, counts.policy, counts.key])
  yield* insertAll('sluice_changes (number, kind, id, value, policy_count, key_count)', some)
  yield* ask('DELETE FROM sluice_changes WHERE number <= ?', number - KEPT_CHANGES)
  return number
}

/** Adds the change that ends a restore. No instance can read it, so every instance reads all records. */
export function* addGap(number: number, counts: Counts): Program<void> {
  const row = [number, 0, '', null, counts.policy, counts.key]
  yield* insertAll('sluice_changes (number, kind, id, value, policy_count, key_count)', [row])
}

/** Adds the mark of a position and other marks, and removes the oldest. */
export function* addMarks({ mark, last }: Position, others: Marks = new Map()): Program<void> {
  const rows = [...new Map(others).set(mark, last)]
  yield* insertAll('sluice_marks (mark, number)', rows, 'ON CONFLICT (mark) DO UPDATE SET number = excluded.number')
  yield* ask(
    'DELETE FROM sluice_marks WHERE mark IN (SELECT mark FROM sluice_marks ORDER BY number DESC, mark DESC LIMIT 1000000 OFFSET ?)',
    KEPT_MARKS,
  )
}

export function* writeOrigin(origin: string): Program<void> {
  yield* ask(
    'INSERT INTO sluice_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    ORIGIN,
    origin,
  )
}

export function* countRecords(): Program<Counts> {
  const rows = yield* ask('SELECT kind, count(*) AS records FROM sluice_records GROUP BY kind')
  const countOf = (kind: number): number => Number(rows.find((row) => Number(row.kind) === kind)?.records ?? 0)
  return { policy: countOf(1), key: countOf(2) }
}
