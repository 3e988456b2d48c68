// Changes policies so that they outlive the process.
// What must stay true: a change that could not be kept is not in force either. It is in force a little before it is safe,
// so that the next change is held against it; only what is safe is acknowledged.

import type { Change, Records } from '../data/records.ts'
import { type Policy, readPolicy } from './policy.ts'
import { PolicyBook } from './policy-book.ts'

export interface PolicyChange {
  readonly before: Policy | undefined
  readonly after: Policy | undefined
}

/** A policy that was kept and cannot be read, such as one of a later version. */
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
  /** How often the book was made anew from what is safe, which takes from it what is on its way to being so. */
  #loads = 0

  /** `onUnread` hears of each policy that cannot be read, once. */
  constructor(records: Records, onUnread: (policy: UnreadPolicy) => void = () => {}) {
    this.#records = records
    this.#onUnread = onUnread
    this.#load()
    this.#unwatch = records.watch((change) => this.#adopt(change))
  }

  /** Policies that are kept and cannot be used. */
  get unread(): readonly UnreadPolicy[] {
    return this.#unread
  }

  /** Adds or replaces a policy; resolves when that is safe. Throws before anything is changed. */
  async put(spec: unknown): Promise<PolicyChange & { readonly after: Policy }> {
    const after = readPolicy(spec, 'api')
    const before = this.book.put(after)
    await this.#commit({ kind: 'policy', id: after.name, value: after.spec })
    this.#isReadable(after.name)
    return { before, after }
  }

  /** Deletes a policy; resolves when that is safe. Deleting `default` brings the built-in one back, which is then `after`. */
  async delete(name: string): Promise<PolicyChange & { readonly before: Policy }> {
    const before = this.book.delete(name)
    const after = this.book.get(name)
    await this.#commit({ kind: 'policy', id: name, value: undefined })
    return { before, after }
  }

  /** Stops hearing of other instances' changes. */
  close(): void {
    this.#unwatch()
  }

  async #commit(change: Change): Promise<void> {
    const loads = this.#loads
    try {
      await this.#records.commit([change])
    } catch (error) {
      // Those that came after it were held against it, and have failed with it.
      this.#load()
      throw error
    }
    if (this.#loads !== loads) this.#load()
  }

  #load(): void {
    this.#loads += 1
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

  #isReadable(name: string): void {
    this.#unread = this.#unread.filter((policy) => policy.name !== name)
  }

  /** What another instance has made safe is in force here too, unless the file says otherwise. */
  #adopt({ kind, id, value }: Change): void {
    if (kind !== 'policy') return
    try {
      if (value === undefined) this.book.delete(id)
      else this.book.put(readPolicy(value, 'api'))
      this.#isReadable(id)
    } catch {
      this.#load()
    }
  }
}
