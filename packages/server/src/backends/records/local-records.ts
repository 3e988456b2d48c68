// The records that this instance knows, and its position in the stream of changes.
// Invariant: a key that was seen revoked stays revoked, whatever the database says later.

import { withEarliestEnd } from '../../keys/earliest-end.ts'
import type { Change, RecordKind } from '../../records.ts'
import {
  countOf,
  differences,
  emptyTables,
  KINDS,
  type KnownRecords,
  type Marks,
  type Position,
  type Tables,
  type UnreadableRecord,
} from './found-records.ts'
import { KEPT_MARKS } from './records-database.ts'

export interface LocalRecordsOptions {
  /** Called after each change, from this instance or another. */
  readonly onChange?: () => void
  /** Called once for each record in the database that cannot be read. */
  readonly onUnreadable?: (record: UnreadableRecord) => void
}

/** The records of a local copy. */
export interface CopiedRecords {
  readonly records: readonly Change[]
  readonly position: Position
  readonly marks: Marks
}

export class LocalRecords {
  readonly tables = emptyTables()
  /** Keys whose revocation the database had lost. It must be written again. */
  readonly lostRevocations = new Set<string>()
  readonly #options: LocalRecordsOptions
  readonly #listeners = new Set<(change: Change) => void>()
  #position: Position | undefined
  /** Marks of the commits that this instance has seen: at most KEPT_MARKS. */
  #marks: Marks = new Map()
  #unreadable = new Map<string, UnreadableRecord>()

  constructor(options: LocalRecordsOptions) {
    this.#options = options
  }

  /** Undefined until any record is known. */
  get known(): KnownRecords | undefined {
    return this.#position && { tables: this.tables, position: this.#position, marks: this.#marks }
  }

  /** Records in the database that cannot be read. */
  get unreadable(): readonly UnreadableRecord[] {
    return [...this.#unreadable.values()]
  }

  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  moveTo(position: Position, marks: Marks): void {
    this.#position = position
    if (marks.size > 0) this.#marks = new Map([...this.#marks, ...marks].slice(-KEPT_MARKS))
  }

  /** Replaces all records. Returns the resulting changes. An unreadable policy keeps its known value; an unreadable key is removed. */
  replaceAll(tables: Tables, unreadable: readonly UnreadableRecord[] = []): readonly Change[] {
    this.#setUnreadable(unreadable)
    const stay = unreadable.filter(({ kind, id }) => kind === 'policy' && this.tables.policy.has(id))
    const policy = new Map([...tables.policy, ...stay.map(({ id }) => [id, this.tables.policy.get(id)] as const)])
    const wanted: Tables = { ...tables, policy }
    for (const id of this.lostRevocations) {
      const theirs = tables.key.get(id)
      if (withEarliestEnd(theirs, this.tables.key.get(id)) === theirs) this.lostRevocations.delete(id)
    }
    const changes = KINDS.flatMap((kind) => differences(kind, this.tables[kind], wanted[kind]))
    this.apply(changes)
    return changes
  }

  /** Number of records of a kind that the database should have. */
  sizeOf(kind: RecordKind): number {
    return countOf(kind, this.tables, this.unreadable)
  }

  /** Applies changes of others and calls the listeners. */
  apply(changes: readonly Change[]): void {
    for (const { kind, id, value: given } of changes) {
      const value = kind === 'key' ? withEarliestEnd(given, this.tables.key.get(id)) : given
      const change = { kind, id, value }
      if (value !== given) this.lostRevocations.add(id)
      this.set(change)
      for (const listener of this.#listeners) listener(change)
    }
  }

  /** Applies revocations that another instance knows and the database may lack. */
  applyRevocations(changes: readonly Change[]): void {
    this.apply(changes)
    for (const { id } of changes) this.lostRevocations.add(id)
  }

  /** Applies a change without calling the listeners. Used for changes of this instance. */
  set({ kind, id, value }: Change): void {
    if (value === undefined) this.tables[kind].delete(id)
    else this.tables[kind].set(id, value)
    this.#unreadable.delete(`${kind} ${id}`)
    this.#options.onChange?.()
  }

  #setUnreadable(unreadable: readonly UnreadableRecord[]): void {
    const named = new Map(unreadable.map((record) => [`${record.kind} ${record.id}`, record]))
    for (const [name, record] of named) if (!this.#unreadable.has(name)) this.#options.onUnreadable?.(record)
    this.#unreadable = named
  }
}
