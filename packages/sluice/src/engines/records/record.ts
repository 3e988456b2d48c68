// A record of a compare-and-swap store: the states of all rules of one key. One swap changes all of them or none.
// Bytes: one for the version. Then for each state: length of its name (2 bytes), number of its cells (4 bytes), name, cells.

import { type Cells, type StateChange, sameCells } from '../loaded-states.ts'
import { checkBytes, damaged, readCells, viewOf, writeCells } from '../state-codec.ts'
import type { Change } from '../working-states.ts'

const VERSION = 1
const HEADER_BYTES = 6
const CELL_BYTES = 8

/** A record that was read. Calls change it here, before it is written. */
export class OpenRecord {
  readonly #name: string
  readonly #isKept: boolean
  #states: Map<string, Float64Array>
  #damage: Error | undefined
  #isChanged = false

  constructor(name: string, value: Uint8Array | undefined) {
    this.#name = name
    this.#isKept = value !== undefined
    this.#states = new Map()
    if (value === undefined) return
    try {
      this.#states = decodeRecord(value, name)
    } catch (error) {
      this.#damage = error as Error
    }
  }

  /** Returns the cells of a state. Throws ERR_STORE_FATAL if the record is damaged. */
  read(state: string): Cells {
    if (this.#damage !== undefined) throw this.#damage
    return this.#states.get(state)
  }

  apply(changes: readonly StateChange[]): void {
    for (const { name, cells } of changes) {
      const kept = this.#states.get(name)
      if (cells === undefined ? kept !== undefined : kept === undefined || !sameCells(kept, cells)) this.#isChanged = true
      // A reset drops states without reading them, so it comes here with a damaged record. The record is replaced then.
      if (this.#damage !== undefined) this.#isChanged = true
      this.#damage = undefined
      if (cells === undefined) this.#states.delete(name)
      else this.#states.set(name, cells)
    }
  }

  /**
   * Returns the record to write; undefined if it is unchanged. States that have ended are dropped, except for states with names in
   * `spared`. These belong to rules in use: if the clock steps back, their counts are still there.
   */
  change(nowMs: number, spared: ReadonlySet<string>): Change | undefined {
    if (!this.#isChanged) return undefined
    for (const [state, cells] of this.#states) if (cells[0] <= nowMs && !spared.has(state)) this.#states.delete(state)
    if (this.#states.size === 0) return this.#isKept ? { name: this.#name, value: undefined, endsAt: 0 } : undefined
    const endsAt = Math.max(...[...this.#states.values()].map((cells) => cells[0]))
    return { name: this.#name, value: encodeRecord(this.#states), endsAt }
  }
}

/** Returns the bytes of a record. Names of states are ASCII: one byte for each character. */
export function encodeRecord(states: ReadonlyMap<string, Float64Array>): Uint8Array {
  let length = 1
  for (const [name, cells] of states) length += HEADER_BYTES + name.length + cells.length * CELL_BYTES
  const bytes = new Uint8Array(length)
  const view = viewOf(bytes)
  bytes[0] = VERSION
  let at = 1
  for (const [name, cells] of states) {
    view.setUint16(at, name.length, true)
    view.setUint32(at + 2, cells.length, true)
    at += HEADER_BYTES
    for (let i = 0; i < name.length; i++) bytes[at++] = name.charCodeAt(i)
    at = writeCells(cells, view, at)
  }
  return bytes
}

/** Reads the bytes of a record. Throws ERR_STORE_FATAL with the record's name if they are damaged. */
export function decodeRecord(bytes: Uint8Array, record: string): Map<string, Float64Array> {
  checkBytes(bytes, record)
  if (bytes[0] !== VERSION) throw damaged(record, `version ${bytes[0]} instead of ${VERSION}`)
  const view = viewOf(bytes)
  const states = new Map<string, Float64Array>()
  let at = 1
  while (at < bytes.length) {
    const isWhole = at + HEADER_BYTES <= bytes.length
    const nameLength = isWhole ? view.getUint16(at, true) : 0
    const cells = isWhole ? view.getUint32(at + 2, true) : 0
    const nameEnd = at + HEADER_BYTES + nameLength
    const end = nameEnd + cells * CELL_BYTES
    if (cells === 0 || end > bytes.length) throw damaged(record, `${bytes.length} bytes hold no whole number of states`)
    states.set(String.fromCharCode(...bytes.subarray(at + HEADER_BYTES, nameEnd)), readCells(view, nameEnd, cells))
    at = end
  }
  return states
}
