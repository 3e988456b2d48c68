// States as bytes: a version, then each cell as a little-endian double. Every store that keeps bytes uses this format.
// Invariant: a damaged value is refused and never used for counting. `reset` deletes it.

import { SluiceError, show } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'

const VERSION = 1
const CELL_BYTES = 8

/** States without a log are written here and then copied. A new view of new bytes would take eight times as long. */
const SMALL = new Uint8Array(1 + 8 * CELL_BYTES)
const SMALL_VIEW = viewOf(SMALL)

/** Returns the bytes of a state. */
export function encodeCells(cells: Float64Array): Uint8Array {
  const length = 1 + cells.length * CELL_BYTES
  const isSmall = length <= SMALL.length
  const bytes = isSmall ? SMALL : new Uint8Array(length)
  bytes[0] = VERSION
  writeCells(cells, isSmall ? SMALL_VIEW : viewOf(bytes), 1)
  return isSmall ? SMALL.slice(0, length) : bytes
}

/** Reads a state from bytes. Throws ERR_STORE_FATAL with the state's name if they are damaged. */
export function decodeCells(bytes: Uint8Array, name: string): Float64Array {
  checkBytes(bytes, name)
  const rest = bytes.length - 1
  if (bytes[0] !== VERSION) throw damaged(name, `version ${bytes[0]} instead of ${VERSION}`)
  if (rest === 0 || rest % CELL_BYTES !== 0) throw damaged(name, `${bytes.length} bytes hold no whole number of cells`)
  return readCells(viewOf(bytes), 1, rest / CELL_BYTES)
}

/** Throws ERR_STORE_FATAL with the state's name unless the cells can be a state of the rule. */
export function checkCells(rule: Rule, cells: Float64Array, name: string): void {
  const { width, log } = rule
  if (log === undefined ? cells.length !== width : cells.length < width) {
    throw damaged(name, `${cells.length} cells instead of ${width}`)
  }
  for (const cell of cells) if (!isCell(cell)) throw damaged(name, `a cell is ${cell}`)
  if (rule.isSound?.(cells) === false) throw damaged(name, 'its cells do not belong together')
}

function isCell(cell: number): boolean {
  return Number.isSafeInteger(cell) && cell >= 0
}

/** Copies cells into bytes. Returns the offset after them. */
export function writeCells(cells: Float64Array, view: DataView, at: number): number {
  for (let i = 0; i < cells.length; i++) view.setFloat64(at + i * CELL_BYTES, cells[i], true)
  return at + cells.length * CELL_BYTES
}

/** Reads `count` cells from `at` on. */
export function readCells(view: DataView, at: number, count: number): Float64Array {
  const cells = new Float64Array(count)
  for (let i = 0; i < count; i++) cells[i] = view.getFloat64(at + i * CELL_BYTES, true)
  return cells
}

/** Throws ERR_STORE_FATAL with the name unless the value is an array of bytes. */
export function checkBytes(bytes: unknown, name: string): void {
  if (!ArrayBuffer.isView(bytes)) throw damaged(name, `${show(bytes)} instead of bytes`)
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function damaged(name: string, why: string): SluiceError {
  const message = `the value of ${show(name)} is damaged: ${why}; reset deletes it`
  return new SluiceError('ERR_STORE_FATAL', message, { option: 'value', value: name })
}
