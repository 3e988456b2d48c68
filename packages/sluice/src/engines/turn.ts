// Gathers what is added in one turn of the event loop.
// Invariant: nothing waits longer than the turn that it was added in, and the order stays.

export class Turn<T> {
  readonly #flush: (gathered: readonly T[]) => void
  #gathered: T[] = []

  /** `flush` gets what was gathered, at the end of the turn. */
  constructor(flush: (gathered: readonly T[]) => void) {
    this.#flush = flush
  }

  add(item: T): void {
    this.#gathered.push(item)
    if (this.#gathered.length === 1) atEndOfTurn(() => this.flush())
  }

  /** Hands over what was gathered so far. */
  flush(): void {
    if (this.#gathered.length === 0) return
    const gathered = this.#gathered
    this.#gathered = []
    this.#flush(gathered)
  }
}

/** Looked up at each call: not every runtime has setImmediate. */
function atEndOfTurn(callback: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(callback)
  else setTimeout(callback, 0)
}
