// Records: JSON values by kind and id that outlive the process. The data folder stores them in a journal; a database stores them for
// several instances.
// Invariant: a resolved commit is never lost. An unresolved commit is found later completely or not at all.

import type { ServerError } from './errors.ts'

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
}

/** Makes the note about a change, right before the change is committed. */
export type MakeNote<C> = (change: C) => ChangeNote

export interface Records {
  /** All committed values of a kind, by id. */
  all(kind: RecordKind): ReadonlyMap<string, unknown>
  /**
   * Commits changes, all or none, in the order of the calls. Resolves when they are durable. Rejects with ERR_DATA_WRITE if nothing was
   * stored, with ERR_DATA_UNKNOWN if that is not known, or with ERR_RECORDS_LOST if earlier changes have been lost. A rejection also rejects every commit that was requested meanwhile.
   * `refusal` is called right before the changes are written, when all earlier changes of others are known. If it returns an error,
   * only this commit is rejected. `note` is stored in the same transaction, if the records can do that.
   */
  commit(changes: readonly Change[], refusal?: () => ServerError | undefined, note?: ChangeNote): Promise<void>
  /**
   * Remembers a revocation whose commit failed. It is committed as soon as changes are possible, unless `refusal` returns an error
   * then. Implementations that cannot commit later leave this out.
   */
  owe?(change: Change, refusal: () => ServerError | undefined, note?: ChangeNote): void
  /** Registers a listener for changes of other instances. Returns a function that removes it. */
  watch(listener: (change: Change) => void): () => void
  close(): Promise<void>
}
