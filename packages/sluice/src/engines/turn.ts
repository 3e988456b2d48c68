// Gathers the items that are added in one turn of the event loop.
// Invariant: no item waits longer than the turn in which it was added, and the order stays the same.

import { atEndOfTurn, endOfTurns } from './end-of-turn.ts'

export class Turn<T> {
  readonly #flush: (gathered: readonly T[]) => void
  #gathered: T[] = []
  /** The function that ends the turn of the items. */
  #awaited: unknown

  /** `flush` gets the gathered items at the end of the turn. */
  constructor(flush: (gathered: readonly T[]) => void) {
    this.#flush = flush
  }

  add(item: T): void {
    this.#gathered.push(item)
    const awaited = endOfTurns()
    if (this.#gathered.length > 1 && awaited === this.#awaited) return
    this.#awaited = awaited
    atEndOfTurn(() => this.flush())
  }

  /** Passes on the items gathered so far. */
  flush(): void {
    if (this.#gathered.length === 0) return
    const gathered = this.#gathered
    this.#gathered = []
    this.#flush(gathered)
  }
}
