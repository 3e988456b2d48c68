// The policies in force, from the records. It validates changes, and the change desk commits them.
// Invariant: only committed changes are in force.

import type { Change, PlannedChange, RecordsView } from '../records.ts'
import { builtInDefault, DEFAULT_POLICY, type Policy, readPolicy } from './policy.ts'
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
  readonly #records: RecordsView
  readonly #onUnread: (policy: UnreadPolicy) => void
  #unread: readonly UnreadPolicy[] = []
  readonly #unwatch: () => void

  /** `onUnread` is called once for each policy that cannot be read. */
  constructor(records: RecordsView, onUnread: (policy: UnreadPolicy) => void = () => {}) {
    this.#records = records
    this.#onUnread = onUnread
    this.#load()
    this.#unwatch = records.watch((change) => this.#apply(change))
  }

  /** Stored policies that cannot be read. */
  get unread(): readonly UnreadPolicy[] {
    return this.#unread
  }

  /** Validates a policy that is added or replaced. Throws if it is refused. */
  planPut(spec: unknown): PlannedChange<PutPolicy> {
    const after = readPolicy(spec, 'api')
    const before = this.book.checkPut(after)
    const change: Change = { kind: 'policy', id: after.name, value: after.spec }
    return { changes: [change], result: { before, after }, apply: () => this.#enact(after.name, after) }
  }

  /** Validates a deletion. Throws if it is refused. The deletion of `default` restores the built-in policy, which is then `after`. */
  planDelete(name: string): PlannedChange<DeletedPolicy> {
    const before = this.book.checkDelete(name)
    const after = name === DEFAULT_POLICY ? builtInDefault : undefined
    const change: Change = { kind: 'policy', id: name, value: undefined }
    return { changes: [change], result: { before, after }, apply: () => this.#enact(name, undefined) }
  }

  /** Removes the listener for changes of other instances. */
  close(): void {
    this.#unwatch()
  }

  #load(): void {
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
      this.#enact(id, value === undefined ? undefined : readPolicy(value, 'api'))
    } catch {
      this.#load()
    }
  }

  /** Puts a committed change in force. The book may refuse it, because the configuration file has changed meanwhile. */
  #enact(name: string, policy: Policy | undefined): void {
    try {
      if (policy === undefined) this.book.delete(name)
      else this.book.put(policy)
      this.#markReadable(name)
    } catch {
      this.#load()
    }
  }
}
