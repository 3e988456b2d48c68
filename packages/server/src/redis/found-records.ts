// Parses replies of the Lua programs: the records in Redis, and their position.
// Invariant: a record that cannot be read is reported and does not affect the others.

import type { Change, RecordKind } from '../data/records.ts'

export const KINDS: readonly RecordKind[] = ['policy', 'key']

export type Tables = Readonly<Record<RecordKind, Map<string, unknown>>>

export const emptyTables = (): Tables => ({ policy: new Map(), key: new Map() })

/** The last change that an instance has applied. */
export interface Position {
  /** Number of the change. */
  readonly last: number
  /** Mark of its commit; empty if it was made before marks existed. */
  readonly mark: string
  /** Random text of the first commit. Another origin means that Redis was emptied. */
  readonly origin: string
}

/** A record in Redis that cannot be read. */
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

type Flat = readonly string[]
export type StreamEntry = readonly [id: string, fields: Flat]

export type LoadReply = readonly [number, string, string, string, 0 | 1, Flat, Flat, Flat]

export function readLoaded([last, mark, origin, lost, isShort, marks, ...hashes]: LoadReply): FoundRecords {
  const tables = emptyTables()
  const unreadable: UnreadableRecord[] = []
  for (const [i, kind] of KINDS.entries()) {
    for (const [id, text] of pairsOf(hashes[i])) {
      const value = readValue(text)
      if (value === undefined) unreadable.push({ kind, id })
      else tables[kind].set(id, value)
    }
  }
  return { position: { last, mark, origin }, lost, isShort: isShort === 1, marks: readMarks(marks), tables, unreadable }
}

/** Number of records of a kind in Redis, including unreadable ones, some of which may also be in `tables`. */
export function countOf(kind: RecordKind, tables: Tables, unreadable: readonly UnreadableRecord[]): number {
  return tables[kind].size + unreadable.filter((record) => record.kind === kind && !tables[kind].has(record.id)).length
}

export function readMarks(flat: Flat): Marks {
  return new Map([...pairsOf(flat)].map(([mark, last]) => [mark, Number(last)]))
}

/** Returns the number of a change in the stream. */
export function numberOfChange([id]: StreamEntry): number {
  return Number(id.split('-')[0])
}

/** Returns undefined if the entry is not a change or cannot be read. */
export function readChange([, [, number, , id, , text]]: StreamEntry): Change | undefined {
  const kind = KINDS[Number(number) - 1]
  if (kind === undefined || id === undefined || text === undefined) return undefined
  if (text === '') return { kind, id, value: undefined }
  const value = readValue(text)
  return value === undefined ? undefined : { kind, id, value }
}

/** Writes changes as arguments of the Lua programs: kind, id and value of each. */
export function writtenChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ kind, id, value }) => [
    String(KINDS.indexOf(kind) + 1),
    id,
    value === undefined ? '' : JSON.stringify(value),
  ])
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

export function* pairsOf(flat: Flat): Generator<readonly [string, string]> {
  for (let i = 0; i + 1 < flat.length; i += 2) yield [flat[i], flat[i + 1]]
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
