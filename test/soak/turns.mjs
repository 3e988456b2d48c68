// Work that is done one after the other.

export class Turns {
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  take(work) {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
