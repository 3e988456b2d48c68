// Changes policies durably.
// Invariant: a change that could not be committed is not in force. A change is in force shortly before its commit, so that the next
// change is validated against it. It is acknowledged after its commit.

import type { Change, ChangeNote, MakeNote, Records } from '../records.ts'
import { type Policy, readPolicy } from './policy.ts'
import { PolicyBook } from './policy-book.ts'

export interface PolicyChange {
  readonly before: Policy | undefined
  readonly after: Policy | undefined
}

export type PutPolicy = PolicyChange & { readonly after: Policy }
export type DeletedPolicy = PolicyChange & { readonly before: Policy }

/** A stored policy that cannot be read, such as one of a newer version. */
export interface UnreadPolicy {
  readonly name: string
  readonly error: unknown
}

export class PolicyKeeper {
  readonly book = new PolicyBook()
  readonly #records: Records
  readonly #onUnread: (policy: UnreadPolicy) => void
  #unread: readonly UnreadPolicy[] = []
  readonly #unwatch: () => void
  /** Number of reloads. A reload drops changes that are not committed yet. */
  #reloads = 0

  /** `onUnread` is called once for each policy that cannot be read. */
  constructor(records: Records, onUnread: (policy: UnreadPolicy) => void = () => {}) {
    this.#records = records
    this.#onUnread = onUnread
    this.#load()
    this.#unwatch = records.watch((change) => this.#apply(change))
  }

  /** Stored policies that cannot be read. */
  get unread(): readonly UnreadPolicy[] {
    return this.#unread
  }

  /** Adds or replaces a policy. Resolves when the change is durable. Throws before any change. */
  async put(spec: unknown, noteOf?: MakeNote<PutPolicy>): Promise<PutPolicy> {
    const after = readPolicy(spec, 'api')
    const before = this.book.put(after)
    await this.#commit({ kind: 'policy', id: after.name, value: after.spec }, noteOf?.({ before, after }))
    this.#markReadable(after.name)
    return { before, after }
  }

  /** Deletes a policy. Resolves when the change is durable. Deleting `default` restores the built-in policy, which is then `after`. */
  async delete(name: string, noteOf?: MakeNote<DeletedPolicy>): Promise<DeletedPolicy> {
    const before = this.book.delete(name)
    const after = this.book.get(name)
    await this.#commit({ kind: 'policy', id: name, value: undefined }, noteOf?.({ before, after }))
    return { before, after }
  }

  /** Removes the listener for changes of other instances. */
  close(): void {
    this.#unwatch()
  }

  async #commit(change: Change, note: ChangeNote | undefined): Promise<void> {
    const reloads = this.#reloads
    try {
      await this.#records.commit([change], undefined, note)
    } catch (error) {
      // Later changes were validated against this one, and have failed with it.
      this.#load()
      throw error
    }
    if (this.#reloads !== reloads) this.#load()
  }

  #load(): void {
    this.#reloads += 1
    const unread: UnreadPolicy[] = []
    const policies: Policy[] = []
    for (const [name, spec] of this.#records.all('policy')) {
      try {
        policies.push(readPolicy(spec, 'api'))
      } catch (error) {
        unread.push({ name, error })
      }
    }
    this.book.replaceApiPolicies(policies)
    const named = new Set(this.#unread.map(({ name }) => name))
    this.#unread = unread
    for (const policy of unread) if (!named.has(policy.name)) this.#onUnread(policy)
  }

  #markReadable(name: string): void {
    this.#unread = this.#unread.filter((policy) => policy.name !== name)
  }

  /** Applies a committed change of another instance. */
  #apply({ kind, id, value }: Change): void {
    if (kind !== 'policy') return
    try {
      if (value === undefined) this.book.delete(id)
      else this.book.put(readPolicy(value, 'api'))
      this.#markReadable(id)
    } catch {
      this.#load()
    }
  }
}
