// The outcome of each part that one call was sent to. If the call fails, most parts are not to blame.

export class PartsAsked {
  /** Number of questions that a server has not answered yet. */
  readonly #waiting = new Map<string, number>()
  readonly #failed = new Set<string>()

  /** Notes what becomes of a question to a server. Returns the answer. */
  note<V>(server: string, answer: Promise<V>): Promise<V> {
    this.#waiting.set(server, (this.#waiting.get(server) ?? 0) + 1)
    answer.then(
      () => this.#end(server),
      () => {
        this.#failed.add(server)
        this.#end(server)
      },
    )
    return answer
  }

  /** The servers that failed; if none did, those that have not answered. Undefined if there are none of either. */
  get failed(): readonly string[] | undefined {
    const failed = this.#failed.size > 0 ? [...this.#failed] : [...this.#waiting.keys()]
    return failed.length > 0 ? failed : undefined
  }

  #end(server: string): void {
    const left = (this.#waiting.get(server) ?? 0) - 1
    if (left > 0) this.#waiting.set(server, left)
    else this.#waiting.delete(server)
  }
}
