// Records: JSON values by kind and id that outlive the process. The data folder stores them in a journal; a database stores them for
// several instances.
// Invariant: a resolved commit is never lost. An unresolved commit is found later completely or not at all.

import { ServerError } from './errors.ts'

export type RecordKind = 'policy' | 'key'

export interface Change {
  readonly kind: RecordKind
  readonly id: string
  /** The new value, which must be JSON; undefined to delete the record. */
  readonly value: unknown
}

/** An entry of the audit log, without its time. */
export interface AuditedChange {
  /** The id of the key that was used, or another actor: `cli`, `file`. */
  readonly actor: string
  /** The name of the actor at that time. Entries of earlier versions have none. */
  readonly actorName?: string
  /** Such as `policy.put`, `policy.delete`, `key.create`, `key.revoke`, `counter.reset`, `session.start`. */
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
  readonly requestId?: string
  readonly address?: string
}

/** An entry of the audit log about a change, for records that can store both in one transaction. */
export interface ChangeNote {
  readonly entry: AuditedChange
  /** True if the entry was stored with the change. Otherwise it has to be stored afterwards. */
  isStored: boolean
  /** The time of the entry, if the records remember it with the change: see journal.ts. */
  time?: string
}

/** A change that was validated against the present records. */
export interface PlannedChange<T> {
  readonly changes: readonly Change[]
  readonly result: T
  /** Validates the change once more, right before it is written. Returns an error if it is refused. */
  readonly refusal?: () => ServerError | undefined
  /** Puts the committed change in force. Does not throw. */
  readonly apply: () => void
  /** Called if the change was not committed. Returns a revocation that is owed. */
  readonly failed?: (error: unknown) => OwedChange | undefined
}

/** A revocation that has to be committed later. */
export interface OwedChange {
  readonly change: Change
  readonly refusal: () => ServerError | undefined
}

export interface CommitOptions {
  /**
   * Called right before the changes are written, when all earlier changes of others are known. If it returns an error, only this commit
   * is rejected.
   */
  readonly refusal?: () => ServerError | undefined
  /** Stored in the same transaction, or remembered with the changes. */
  readonly note?: ChangeNote
  /**
   * Called once the changes are committed, before later changes of others are applied. If the answer was lost and the changes are
   * found in the database, the listeners of `watch` are called instead.
   */
  readonly applied?: () => void
}

/** Records as all parts see them but the change desk, which alone commits. */
export interface RecordsView {
  /** All committed values of a kind, by id. */
  all(kind: RecordKind): ReadonlyMap<string, unknown>
  /** Registers a listener for changes of other instances. Returns a function that removes it. */
  watch(listener: (change: Change) => void): () => void
}

export interface Records extends RecordsView {
  /**
   * Commits changes, all or none, in the order of the calls. Resolves when they are durable. Rejects with ERR_DATA_WRITE if nothing was
   * stored, with ERR_DATA_UNKNOWN if that is not known, or with ERR_RECORDS_LOST if earlier changes have been lost. A rejection also
   * rejects every commit that was requested meanwhile.
   */
  commit(changes: readonly Change[], options?: CommitOptions): Promise<void>
  /**
   * Remembers a revocation whose commit failed. It is committed as soon as changes are possible, unless `refusal` returns an error
   * then. Implementations that cannot commit later leave this out.
   */
  owe?(change: Change, refusal: () => ServerError | undefined, note?: ChangeNote): void
  close(): Promise<void>
}

/** The error of a change that was requested before another one failed. It was not tried. */
export function errorForLater(failure: unknown): unknown {
  if (!(failure instanceof ServerError) || failure.code !== 'ERR_DATA_UNKNOWN') return failure
  const message = 'an earlier change may or may not have been made, so this one was not tried: look, and repeat it'
  return new ServerError('ERR_DATA_WRITE', message, { cause: failure })
}
