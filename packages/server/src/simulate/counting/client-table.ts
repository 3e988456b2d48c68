// Exact counts for a bounded number of clients: those that the log names first. All other clients are counted together, and those of them
// that are denied most are kept by a sketch.
// Invariant: the table has at most `most` clients, and holds no part of the text of a log.

import { SpaceSaving } from '../../stats/space-saving.ts'
import { detached } from '../forms/entry-reader.ts'

/** Index of every client that is not in the table. */
export const OTHERS = -1

/** Clients of the sketch. A count is too high by at most a 1,024th of the denials of clients outside the table. */
const SKETCHED = 1024

/** Columns of the counts. */
export const COLUMN = { requests: 0, denied: 1, shadowDenied: 2, deniedBefore: 3, newlyDenied: 4, newlyAllowed: 5 } as const
export type Column = keyof typeof COLUMN
const COLUMNS = Object.keys(COLUMN).length

const FIRST_SIZE = 1024

export interface SketchedClient {
  readonly clientId: string
  readonly denied: number
  readonly error: number
}

export class ClientTable {
  readonly #most: number
  readonly #indexes = new Map<string, number>()
  readonly #names: string[] = []
  /** Counts of the clients, column by column. A request that is allowed changes one column, which stays in the processor's cache. */
  readonly #counts = Object.keys(COLUMN).map(() => new Float64Array(FIRST_SIZE))
  /** Times of the first denial. NaN if there is none. */
  #firstDenied = new Float64Array(FIRST_SIZE).fill(Number.NaN)
  readonly #others = new Float64Array(COLUMNS)
  readonly #sketch = new SpaceSaving(SKETCHED, 1)

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#names.length
  }

  /** Adds a client if there is space. Returns its index, or OTHERS. */
  place(clientId: string): number {
    const known = this.#indexes.get(clientId)
    if (known !== undefined) return known
    const index = this.#names.length
    if (index >= this.#most) return OTHERS
    const name = detached(clientId)
    this.#indexes.set(name, index)
    this.#names.push(name)
    if (index >= this.#firstDenied.length) this.#grow()
    return index
  }

  nameOf(index: number): string {
    return this.#names[index]
  }

  add(index: number, column: number): void {
    if (index === OTHERS) this.#others[column] += 1
    else this.#counts[column][index] += 1
  }

  /** Notes who was denied, and when. */
  noteDenial(index: number, clientId: string, nowMs: number): void {
    if (index === OTHERS) this.#sketch.add(detached(clientId), 0)
    else if (Number.isNaN(this.#firstDenied[index])) this.#firstDenied[index] = nowMs
  }

  count(index: number, column: Column): number {
    return this.#counts[COLUMN[column]][index]
  }

  firstDeniedMs(index: number): number {
    return this.#firstDenied[index]
  }

  /** Requests of clients outside the table. */
  others(column: Column): number {
    return this.#others[COLUMN[column]]
  }

  /** Number of clients of the table with a count above 0. */
  clientsWith(column: Column): number {
    let clients = 0
    for (let i = 0; i < this.size; i++) if (this.count(i, column) > 0) clients += 1
    return clients
  }

  /** Returns the indexes of the `most` clients with the highest counts above 0, the highest first. */
  top(column: Column, most: number): number[] {
    const indexes: number[] = []
    for (let i = 0; i < this.size; i++) if (this.count(i, column) > 0) indexes.push(i)
    const order = (a: number, b: number): number => this.count(b, column) - this.count(a, column) || a - b
    return indexes.sort(order).slice(0, most)
  }

  /** Returns the denied clients outside the table. */
  sketched(most: number): SketchedClient[] {
    const clients = [...this.#sketch.items()].map((clientId) => {
      const { count = 0, error = 0 } = this.#sketch.get(clientId) ?? {}
      return { clientId, denied: count, error }
    })
    return clients.sort((a, b) => b.denied - a.denied).slice(0, most)
  }

  #grow(): void {
    const size = Math.min(this.#most, this.#firstDenied.length * 2)
    this.#firstDenied = enlarged(this.#firstDenied, size, Number.NaN)
    for (const [column, counts] of this.#counts.entries()) this.#counts[column] = enlarged(counts, size, 0)
  }
}

function enlarged(numbers: Float64Array, size: number, rest: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(size).fill(rest, numbers.length)
  larger.set(numbers)
  return larger
}
