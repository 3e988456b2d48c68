// Writes items of many callers in groups. While one group is written, the next one is collected.

interface Waiting<T> {
  readonly item: T
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Maximum size of a group, so that its first caller does not wait for thousands of others. */
const MOST_IN_GROUP = 1000

export class GroupCommit<T> {
  readonly #write: (items: readonly T[]) => Promise<void>
  #waiting: Waiting<T>[] = []
  #writing: Promise<void> | undefined

  constructor(write: (items: readonly T[]) => Promise<void>) {
    this.#write = write
  }

  /** Resolves when the item is written. If its group fails, it and all waiting items are rejected. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#writing ??= this.#writeGroups()
    })
  }

  /** Resolves when all items so far are written or rejected. */
  async settled(): Promise<void> {
    await this.#writing
  }

  async #writeGroups(): Promise<void> {
    // Items that are added in the same turn belong to the first group.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MOST_IN_GROUP)
      try {
        await this.#write(group.map(({ item }) => item))
        for (const { resolve } of group) resolve()
      } catch (reason) {
        for (const { reject } of [...group, ...this.#waiting]) reject(reason)
        this.#waiting = []
      }
    }
    this.#writing = undefined
  }
}
