// A queue that runs one piece of work after the other.

export class SerialQueue {
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  run(work) {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
