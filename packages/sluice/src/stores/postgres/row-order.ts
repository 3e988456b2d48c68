// Keeps the order of commands that share a row: a command waits until all earlier ones on its rows have ended. Without it, commands on
// two connections of a pool might overtake each other.
// Invariant: a command waits only for earlier ones, so that no two wait for each other.

export class RowOrder {
  /** The end of the last command on each row that is in use. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Number of rows in use. */
  get size(): number {
    return this.#ends.size
  }

  async run<V>(names: readonly string[], work: () => Promise<V>): Promise<V> {
    let before: Set<Promise<void>> | undefined
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    for (const name of names) {
      const earlier = this.#ends.get(name)
      if (earlier !== undefined) before = (before ?? new Set()).add(earlier)
      this.#ends.set(name, ended)
    }
    try {
      if (before !== undefined) for (const earlier of before) await earlier
      return await work()
    } finally {
      for (const name of names) if (this.#ends.get(name) === ended) this.#ends.delete(name)
      end()
    }
  }
}
