// Owed revocations: this instance was asked for them, and their commit failed.
// Invariant: each is committed as soon as changes are possible, or refused at that time like a new request. There are at most as many
// as keys.

import type { ServerError } from '../../errors.ts'
import { withEarliestEnd } from '../../keys/earliest-end.ts'
import type { Change, ChangeNote } from '../../records.ts'

export interface OwedRevocation {
  readonly change: Change
  /** Called right before the commit. */
  readonly refusal: () => ServerError | undefined
  /** The entry of the audit log about it. */
  readonly note: ChangeNote | undefined
}

export class OwedRevocations {
  readonly #owed = new Map<string, OwedRevocation>()

  add(owed: OwedRevocation): void {
    this.#owed.set(owed.change.id, owed)
  }

  delete(id: string): void {
    this.#owed.delete(id)
  }

  /** Returns the revocations that still change a key. A key that is deleted or revoked otherwise is no longer owed. */
  due(keys: ReadonlyMap<string, unknown>): readonly OwedRevocation[] {
    const due: OwedRevocation[] = []
    for (const [id, { change, refusal, note }] of this.#owed) {
      const now = keys.get(id)
      const value = withEarliestEnd(now, change.value)
      if (value === now) this.#owed.delete(id)
      else due.push({ change: { kind: 'key', id, value }, refusal, note })
    }
    return due
  }
}
