// The port to a database that several instances share: the steps on its records (policies and keys), each of them atomic.
// Every commit adds a mark, a random text, to a list of marks. If an instance finds its last mark there, the database has everything
// that the instance has seen. A database that was emptied, or returned to an earlier state, lacks marks.
// Invariant: every implementation gives the same answers, so that one set of tests holds for all of them.

import type { AuditedChange, Change, RecordKind } from '../../records.ts'
import type { FoundRecords, Marks, Position } from './found-records.ts'

/** Changes that are kept. An instance that missed more reads all records. */
export const KEPT_CHANGES = 1000

/** Number of commits whose marks are kept. */
export const KEPT_MARKS = 1000

export type Counts = Readonly<Record<RecordKind, number>>

export interface CommitRequest {
  /** The position that the instance has seen. Nothing is written if the database is at another one. */
  readonly seen: Position
  readonly mark: string
  /** The origin, if this is the first commit. */
  readonly origin: string
  /** Nothing is written if the database has fewer records than this. */
  readonly counts: Counts
  readonly changes: readonly Change[]
  /** The entry of the audit log about the changes. */
  readonly entry?: AuditedChange
}

export interface Followed {
  readonly position: Position
  /** The notice of an instance that knows of lost changes, or empty. */
  readonly lost: string
  /** True if the database has everything that was seen. A mark too old to be kept counts as found if the origin is the same. */
  readonly isThere: boolean
  /** Changes and marks since then. A change that cannot be read is undefined. */
  readonly changes: readonly (Change | undefined)[]
  readonly marks: Marks
  /** Numbers of records; undefined if they were not counted this time. */
  readonly counts: Counts | undefined
}

export interface NumberedChange {
  readonly number: number
  /** Undefined if it cannot be read. */
  readonly change: Change | undefined
}

export interface FoundWithChanges extends FoundRecords {
  /** All changes that are kept, in their order. */
  readonly changes: readonly NumberedChange[]
}

export interface ChunkRequest {
  readonly claim: string
  /** New lifetime of the claim. */
  readonly forMs: number
  /** Number of chunks before this one. */
  readonly chunks: number
  readonly changes: readonly Change[]
}

export interface FinishRequest {
  readonly claim: string
  /** Number of chunks that were written. */
  readonly chunks: number
  /** The position of the plan. */
  readonly seen: Position
  /** The new position. Its number skips some, so that every instance reads all records. */
  readonly position: Position
  /** Expected numbers of records. */
  readonly counts: Counts
  /** Marks to add. */
  readonly marks: Marks
}

/** A revoked key, with the time of its revocation. */
export type RevokedKey = readonly [id: string, atMs: number]

export interface RecordsDatabase {
  /** Its name in messages: `Redis`. */
  readonly title: string
  /** Describes a failure, as the start of a sentence: "Redis refuses" is not "Redis does not answer". */
  troubleOf(error: unknown): string
  /**
   * Makes the changes and stores their entry of the audit log, both or neither. Returns the new position, or undefined if there are
   * unseen changes, records are missing, or changes were lost. Throws ERR_DATA_UNKNOWN if it may have been made, and ERR_DATA_WRITE if
   * it was not.
   */
  commit(request: CommitRequest): Promise<Position | undefined>
  load(): Promise<FoundRecords>
  loadWithChanges(): Promise<FoundWithChanges>
  follow(seen: Position): Promise<Followed>
  /**
   * Writes the notice of lost changes, which begins with the number of the last known change. The notice with the highest number
   * wins. Returns the current notice.
   */
  writeNotice(notice: string, forMs: number): Promise<string>
  /** Removes a notice, if it is the current one. */
  removeNotice(notice: string): Promise<void>
  /** Adds revoked keys to the shared list, up to `most` in all. */
  nameRevoked(keys: readonly RevokedKey[], limits: { readonly forMs: number; readonly most: number }): Promise<void>
  namedRevoked(): Promise<readonly RevokedKey[]>
  /**
   * Claims the restore for one instance. Returns false if another instance has the claim. The claim includes the number of chunks that
   * were written under it. A database that was emptied or returned to an earlier state meanwhile has another number, or none.
   */
  claim(claim: string, forMs: number): Promise<boolean>
  /** Releases a claim. */
  unclaim(claim: string): Promise<void>
  /** Writes a chunk of a restore. Returns false if the claim has expired or a chunk is missing. */
  writeChunk(request: ChunkRequest): Promise<boolean>
  /**
   * Ends a restore, if nothing has changed since it was planned and all its chunks are there. Returns false if it was too late.
   * The notice and the shared list of revoked keys end with it.
   */
  finish(request: FinishRequest): Promise<boolean>
}
