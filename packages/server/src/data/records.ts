// Records: JSON values by kind and id that outlive the process. The data folder stores them in a journal; Redis stores them for
// several instances.
// Invariant: a resolved commit is never lost. An unresolved commit is found later completely or not at all.

import type { ServerError } from '../errors.ts'

export type RecordKind = 'policy' | 'key'

export interface Change {
  readonly kind: RecordKind
  readonly id: string
  /** The new value, which must be JSON; undefined to delete the record. */
  readonly value: unknown
}

export interface Records {
  /** All committed values of a kind, by id. */
  all(kind: RecordKind): ReadonlyMap<string, unknown>
  /**
   * Commits changes, all or none, in the order of the calls. Resolves when they are durable. Rejects with ERR_DATA_WRITE, or
   * with ERR_RECORDS_LOST if earlier changes have been lost. A rejection also rejects every commit that was requested meanwhile.
   * `refusal` is called right before the changes are written, when all earlier changes of others are known. If it returns an error,
   * only this commit is rejected.
   */
  commit(changes: readonly Change[], refusal?: () => ServerError | undefined): Promise<void>
  /**
   * Remembers a revocation whose commit failed. It is committed as soon as changes are possible, unless `refusal` returns an error
   * then. Implementations that cannot commit later leave this out.
   */
  owe?(change: Change, refusal: () => ServerError | undefined): void
  /** Registers a listener for changes of other instances. Returns a function that removes it. */
  watch(listener: (change: Change) => void): () => void
  close(): Promise<void>
}
