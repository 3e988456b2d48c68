// The states of one transaction: copies in memory that its calls share. Each call sees the changes of the calls before it.

import type { Figures } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import { type Cells, type NamedCall, runCall } from './loaded-states.ts'
import { decodeCells, encodeCells } from './state-codec.ts'

/** A row to write, or to delete if it has no value. */
export interface Change {
  readonly name: string
  readonly value: Uint8Array | undefined
  /** Time from which the value may be dropped, in ms since the epoch; 0 if there is no value. */
  readonly endsAt: number
}

export class WorkingStates {
  readonly #values: ReadonlyMap<string, Uint8Array>
  readonly #changed = new Map<string, Cells>()

  /** `values` are the bytes of the states that the store keeps. */
  constructor(values: ReadonlyMap<string, Uint8Array>) {
    this.#values = values
  }

  /** Runs a call. Returns its figures, or the error of this call alone, such as a damaged value. */
  run(call: NamedCall, nowMs: number): Figures | SluiceError {
    try {
      const { figures, changes } = runCall(call, (name) => this.#read(name), nowMs)
      for (const { name, cells } of changes) this.#changed.set(name, cells)
      return figures
    } catch (error) {
      if (error instanceof SluiceError) return error
      throw error
    }
  }

  /** Returns the rows that differ from the store's. */
  changes(): Change[] {
    const changes: Change[] = []
    for (const [name, cells] of this.#changed) {
      if (cells !== undefined) changes.push({ name, value: encodeCells(cells), endsAt: cells[0] })
      else if (this.#values.has(name)) changes.push({ name, value: undefined, endsAt: 0 })
    }
    return changes
  }

  #read(name: string): Cells {
    if (this.#changed.has(name)) return this.#changed.get(name)
    const value = this.#values.get(name)
    return value === undefined ? undefined : decodeCells(value, name)
  }
}
