// The records that a database has or that an instance knows, and their position.
// Invariant: a record that cannot be read is reported and does not affect the others.

import type { Change, RecordKind } from '../../records.ts'

export const KINDS: readonly RecordKind[] = ['policy', 'key']

export type Tables = Readonly<Record<RecordKind, Map<string, unknown>>>

export const emptyTables = (): Tables => ({ policy: new Map(), key: new Map() })

/** The last change that an instance has applied. */
export interface Position {
  /** Number of the change. */
  readonly last: number
  /** Mark of its commit; empty if it was made before marks existed. */
  readonly mark: string
  /** Random text of the first commit. Another origin means that the database was emptied. */
  readonly origin: string
}

/** A record in the database that cannot be read. */
export interface UnreadableRecord {
  readonly kind: RecordKind
  readonly id: string
}

/** Marks of commits, each with the number of its last change. */
export type Marks = Map<string, number>

/** The records that an instance knows. */
export interface KnownRecords {
  readonly tables: Tables
  readonly position: Position
  readonly marks: Marks
}

export interface FoundRecords {
  readonly position: Position
  /** Not empty if an instance reports that changes were lost. */
  readonly lost: string
  /** True if there are fewer records than the last change recorded. */
  readonly isShort: boolean
  readonly marks: Marks
  readonly tables: Tables
  readonly unreadable: readonly UnreadableRecord[]
}

/** A record as the database has it: the value is JSON. */
export interface WrittenRecord {
  readonly kind: RecordKind
  readonly id: string
  readonly text: string
}

/** The tables are in the order of ids. Policies are added to a sorted list, and in any other order that takes minutes for a million. */
export function readRecords(written: Iterable<WrittenRecord>): Pick<FoundRecords, 'tables' | 'unreadable'> {
  const tables = emptyTables()
  const unreadable: UnreadableRecord[] = []
  for (const { kind, id, text } of [...written].sort(inOrder)) {
    const value = readValue(text)
    if (value === undefined) unreadable.push({ kind, id })
    else tables[kind].set(id, value)
  }
  return { tables, unreadable }
}

function inOrder(a: WrittenRecord, b: WrittenRecord): number {
  if (a.kind !== b.kind) return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
  if (a.id === b.id) return 0
  return a.id < b.id ? -1 : 1
}

/** Number of records of a kind in the database, including unreadable ones, some of which may also be in `tables`. */
export function countOf(kind: RecordKind, tables: Tables, unreadable: readonly UnreadableRecord[]): number {
  return tables[kind].size + unreadable.filter((record) => record.kind === kind && !tables[kind].has(record.id)).length
}

/** Returns undefined if the change cannot be read. Without a text, the record was deleted. */
export function readChange(kind: RecordKind | undefined, id: string, text: string | undefined): Change | undefined {
  if (kind === undefined) return undefined
  if (text === undefined) return { kind, id, value: undefined }
  const value = readValue(text)
  return value === undefined ? undefined : { kind, id, value }
}

/** Returns the changes that turn `table` into `wanted`. */
export function differences(
  kind: RecordKind,
  table: ReadonlyMap<string, unknown>,
  wanted: ReadonlyMap<string, unknown>,
): Change[] {
  const gone = [...table.keys()].filter((id) => !wanted.has(id)).map((id) => ({ kind, id, value: undefined }))
  const changed = [...wanted].filter(([id, value]) => JSON.stringify(table.get(id)) !== JSON.stringify(value))
  return [...gone, ...changed.map(([id, value]) => ({ kind, id, value }))]
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
