// Owed revocations: this instance was asked for them, and their commit failed.
// Invariant: each is committed as soon as changes are possible, or refused at that time like a new request. There are at most as many
// as keys.

import type { Change } from '../data/records.ts'
import type { ServerError } from '../errors.ts'
import { withEarliestEnd } from '../keys/earliest-end.ts'

export interface OwedRevocation {
  readonly change: Change
  /** Called right before the commit. */
  readonly refusal: () => ServerError | undefined
}

export class OwedRevocations {
  readonly #owed = new Map<string, OwedRevocation>()

  add(change: Change, refusal: OwedRevocation['refusal']): void {
    this.#owed.set(change.id, { change, refusal })
  }

  delete(id: string): void {
    this.#owed.delete(id)
  }

  /** Returns the revocations that still change a key. A key that is deleted or revoked otherwise is no longer owed. */
  due(keys: ReadonlyMap<string, unknown>): readonly OwedRevocation[] {
    const due: OwedRevocation[] = []
    for (const [id, { change, refusal }] of this.#owed) {
      const now = keys.get(id)
      const value = withEarliestEnd(now, change.value)
      if (value === now) this.#owed.delete(id)
      else due.push({ change: { kind: 'key', id, value }, refusal })
    }
    return due
  }
}
