// Answers of the programs, read: the records that Redis has, and where they stand.
// Invariant: a record that cannot be read is named, and gets in nobody's way.

import type { Change, RecordKind } from '../data/records.ts'

export const KINDS: readonly RecordKind[] = ['policy', 'key']

export type Tables = Readonly<Record<RecordKind, Map<string, unknown>>>

export const emptyTables = (): Tables => ({ policy: new Map(), key: new Map() })

/** The last change that an instance has followed. */
export interface Position {
  /** The number of the last change. */
  readonly last: number
  /** The mark of the last commit; empty if it was made before marks existed. */
  readonly mark: string
  /** Of the first commit. Another origin means that Redis was emptied. */
  readonly origin: string
}

/** A record that is in Redis and cannot be read. */
export interface UnreadableRecord {
  readonly kind: RecordKind
  readonly id: string
}

/** Commits by their marks, each with the number of its last change. */
export type Marks = Map<string, number>

/** The records as an instance knows them. */
export interface KnownRecords {
  readonly tables: Tables
  readonly position: Position
  readonly marks: Marks
}

export interface FoundRecords {
  readonly position: Position
  /** Not empty: an instance says that changes were lost. */
  readonly lost: string
  /** True if there are fewer records than after the last change. */
  readonly isShort: boolean
  readonly marks: Marks
  readonly tables: Tables
  readonly unreadable: readonly UnreadableRecord[]
}

type Flat = readonly string[]
export type StreamEntry = readonly [id: string, fields: Flat]

export type LoadAnswer = readonly [number, string, string, string, 0 | 1, Flat, Flat, Flat]

export function readLoaded([last, mark, origin, lost, isShort, marks, ...hashes]: LoadAnswer): FoundRecords {
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

/** Records of a kind that Redis has, those that cannot be read included, of which `tables` may hold some. */
export function countOf(kind: RecordKind, tables: Tables, unreadable: readonly UnreadableRecord[]): number {
  return tables[kind].size + unreadable.filter((record) => record.kind === kind && !tables[kind].has(record.id)).length
}

export function readMarks(flat: Flat): Marks {
  return new Map([...pairsOf(flat)].map(([mark, last]) => [mark, Number(last)]))
}

/** The number of a change in the stream. */
export function numberOfChange([id]: StreamEntry): number {
  return Number(id.split('-')[0])
}

/** Undefined if the change cannot be read, or is none. */
export function readChange([, [, number, , id, , text]]: StreamEntry): Change | undefined {
  const kind = KINDS[Number(number) - 1]
  if (kind === undefined || id === undefined || text === undefined) return undefined
  if (text === '') return { kind, id, value: undefined }
  const value = readValue(text)
  return value === undefined ? undefined : { kind, id, value }
}

/** Kind, id and value of each change, as the programs take them. */
export function writtenChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ kind, id, value }) => [
    String(KINDS.indexOf(kind) + 1),
    id,
    value === undefined ? '' : JSON.stringify(value),
  ])
}

/** Changes that make `table` equal to `wanted`. */
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
