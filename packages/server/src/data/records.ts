// What outlives the process: JSON values by kind and id. The data folder keeps them in a journal; another keeper may keep
// them elsewhere, for several instances.
// Invariant: a commit that has resolved is never lost, and of one that has not, all or nothing is found later.

import type { ServerError } from '../errors.ts'

export type RecordKind = 'policy' | 'key'

export interface Change {
  readonly kind: RecordKind
  readonly id: string
  /** The new value, which can be written as JSON; undefined to delete. */
  readonly value: unknown
}

export interface Records {
  /** All values of a kind that are safe, by id. */
  all(kind: RecordKind): ReadonlyMap<string, unknown>
  /**
   * Makes changes, all or none of them, in the order of the calls; resolves when they are safe. Rejects with ERR_DATA_WRITE, or
   * with ERR_RECORDS_LOST if earlier changes have been lost, and with it every commit that was asked for meanwhile. `refusal` is
   * asked right before the changes are made, when all changes of others before them have been heard; the error that it returns
   * rejects this commit alone.
   */
  commit(changes: readonly Change[], refusal?: () => ServerError | undefined): Promise<void>
  /**
   * Takes note of a revocation whose commit failed: it is made as soon as changes can be made, unless `refusal` returns an error then.
   * A keeper that has no such time does without.
   */
  owe?(change: Change, refusal: () => ServerError | undefined): void
  /** Hears of changes that other instances have made; → what stops listening. */
  watch(listener: (change: Change) => void): () => void
  close(): Promise<void>
}
