// The states of one message: copies in memory that its calls share. Each call sees the changes of the calls before it. Each changed
// state is written once, because an object pays for every row that it writes.

import type { Figures } from '../../core/call.ts'
import { SluiceError } from '../../core/errors.ts'
import { type Cells, decide, LoadedStates, type NamedCall } from '../../engines/loaded-states.ts'
import { decodeCells, encodeCells } from '../../engines/state-codec.ts'
import { MOST_SHARE, type ObjectTable, type Row } from './object-table.ts'
import type { RowBound } from './row-bound.ts'

interface Changed {
  readonly cells: Cells
  /** The share of its limit that the state has used, from 0 to 1. */
  readonly share: number
}

export class MessageStates {
  readonly #table: ObjectTable
  readonly #nowMs: number
  /** Values as the table has them, by name. */
  readonly #values = new Map<string, Uint8Array | undefined>()
  readonly #changed = new Map<string, Changed>()

  constructor(table: ObjectTable, nowMs: number) {
    this.#table = table
    this.#nowMs = nowMs
  }

  /** Runs a call. Returns its figures, or the error of this call alone, such as a damaged value. */
  run(named: NamedCall): Figures | SluiceError {
    try {
      const states = new LoadedStates(named, (name) => this.#read(name))
      const figures = decide(named.call, states, this.#nowMs)
      for (const { name, cells, share } of states.changes) this.#changed.set(name, { cells, share })
      return figures
    } catch (error) {
      if (error instanceof SluiceError) return error
      throw error
    }
  }

  /** Writes the changed states. Returns the rows that were written. */
  write(bound: RowBound): readonly Row[] {
    const added: Row[] = []
    const updated: Row[] = []
    let removed = 0
    for (const [name, { cells, share }] of this.#changed) {
      const isKept = this.#value(name) !== undefined
      if (cells !== undefined) (isKept ? updated : added).push(rowOf(name, cells, share))
      else if (isKept) {
        this.#table.remove(name)
        removed += 1
      }
    }
    for (const row of updated) this.#table.update(row)
    // New rows come last, because space for them may be made of the others.
    for (const row of added) {
      bound.makeSpace(this.#nowMs)
      this.#table.insert(row)
    }
    bound.wrote(added.length + updated.length + removed, this.#nowMs)
    return [...updated, ...added]
  }

  #read(name: string): Cells {
    const changed = this.#changed.get(name)
    if (changed !== undefined) return changed.cells
    const value = this.#value(name)
    return value === undefined ? undefined : decodeCells(value, name)
  }

  #value(name: string): Uint8Array | undefined {
    if (!this.#values.has(name)) this.#values.set(name, this.#table.read(name))
    return this.#values.get(name)
  }
}

function rowOf(name: string, cells: Float64Array, share: number): Row {
  return { name, value: encodeCells(cells), endsAt: cells[0], share: Math.floor(share * MOST_SHARE) }
}
