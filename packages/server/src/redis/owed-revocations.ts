// Revocations that this instance was asked for, and whose commit failed.
// Invariant: each is written as soon as changes can be made, or is refused by then as it would be if it were asked for again. There
// are at most as many as keys.

import type { Change } from '../data/records.ts'
import type { ServerError } from '../errors.ts'
import { withEarliestEnd } from '../keys/earliest-end.ts'

export interface OwedRevocation {
  readonly change: Change
  /** Asked right before it is written. */
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

  /** Revocations that change a key as it is now. A key that is gone, or revoked by somebody else, is no longer owed. */
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
