// A hash table with open addressing. A row is a 64-bit fingerprint and the cells of a state, in one typed array. Two other arrays
// hold each row's pressure and age. Linear probing, no wrap-around, deletion by shifting back, no tombstones.
// Invariant: a row is at its home, or in an unbroken run of taken rows after it. The last row is always empty.
// Homes are in the order of fingerprints. So rows that are moved in order to a table of another size fill that table in order.

import { FULL } from '../../core/rule-log.ts'

/** Pressure of a row that must not be evicted during the present call. */
export const PINNED = 255

/** From this pressure on, half of the limit, a row is heavy: age also decides about its eviction. */
export const HEAVY = 127

/** Returns the pressure of one used unit. It is slightly too high, so that rounding leaves no full row below FULL. */
export function pressurePerUnit(limit: number): number {
  return (FULL + 1e-6) / limit
}

/** Bytes of a cell: a double. */
const CELL_BYTES = 8

/** The highest age, in epochs. Older rows count as equally old. */
const MOST_AGE = 192

/** Rows after the last home, for the last run. If at most 0.7 of the homes are taken, a longer run has a probability of 10^-12. */
const TAIL = 512

/** Returns the two halves of a row's fingerprint. */
export function fingerprintOf({ cells, stride }: Rows, row: number): Int32Array {
  return new Int32Array(cells.buffer, row * stride * CELL_BYTES, 2)
}

export class Rows {
  /** Number of cells of one row: one for the fingerprint, and the cells of the state. */
  readonly stride: number
  /** Number of homes: 2^k, or 3 × 2^k. */
  readonly capacity: number
  /** Number of rows, including the tail and the empty last row. */
  readonly length: number
  readonly cells: Float64Array
  /** Pressure of each row, 0 to FULL: the used share of the limit after the last change. */
  readonly pressure: Uint8Array
  /** The epoch in which each row was claimed, modulo 256. */
  readonly #born: Uint8Array
  count = 0
  /** The first row of the next sweep. */
  hand = 0
  readonly #words: Int32Array
  /** The capacity, in quarters of a power of two. */
  readonly #quarters: number
  readonly #homeShift: number

  constructor(width: number, capacity: number, tail: number = TAIL) {
    this.stride = width + 1
    this.capacity = capacity
    this.length = capacity + tail + 1
    this.cells = new Float64Array(this.length * this.stride)
    this.pressure = new Uint8Array(this.length)
    this.#born = new Uint8Array(this.length)
    this.#words = new Int32Array(this.cells.buffer)
    const isPowerOfTwo = (capacity & (capacity - 1)) === 0
    this.#quarters = isPowerOfTwo ? 4 : 3
    this.#homeShift = Math.clz32(capacity) - (isPowerOfTwo ? 0 : 1)
  }

  get bytes(): number {
    return bytesOf(this.stride, this.length)
  }

  /** Returns the home of a fingerprint: proportional to `hi`. Only 29 bits of it are used, so that the product is below 2^31. */
  home(hi: number): number {
    return ((hi >>> 3) * this.#quarters) >>> this.#homeShift
  }

  /** Returns the row of a fingerprint; if there is none, the bitwise complement of the empty row for it. */
  find(lo: number, hi: number): number {
    const words = this.#words
    const step = this.stride << 1
    let row = this.home(hi)
    let word = row * step
    for (;;) {
      const thisLo = words[word]
      const thisHi = words[word + 1]
      if (thisLo === lo && thisHi === hi) return row
      if ((thisLo | thisHi) === 0) return ~row
      row += 1
      word += step
    }
  }

  /** Returns the index in `cells` at which the state of a row starts. */
  at(row: number): number {
    return row * this.stride + 1
  }

  /**
   * Updates the pressure of a row after `more` units, up to `used`. If the pressure stays the same, the array is not accessed, to
   * avoid a cache miss.
   */
  press(row: number, used: number, more: number, perUnit: number): void {
    const pressure = used * perUnit
    const rise = more * perUnit
    if (pressure - (pressure | 0) < rise || used <= more) this.pressure[row] = pressure
  }

  /** Sets the pressure of a row whose key has used `used` units, which may be more than its limit. */
  setPressure(row: number, used: number, perUnit: number): void {
    this.pressure[row] = Math.min(FULL, used * perUnit)
  }

  /** Returns the number of epochs since the row was claimed, at most MOST_AGE. */
  age(row: number, epoch: number): number {
    this.keepAge(row, epoch)
    return (epoch - this.#born[row]) & 255
  }

  /** Keeps the age of an old row from starting again at 0. It must be called for each row once in 64 epochs. */
  keepAge(row: number, epoch: number): void {
    if (((epoch - this.#born[row]) & 255) > MOST_AGE) this.#born[row] = epoch - MOST_AGE
  }

  isTaken(row: number): boolean {
    const word = row * this.stride * 2
    return (this.#words[word] | this.#words[word + 1]) !== 0
  }

  /** Returns the first empty row from `row` on. */
  endOfRun(row: number): number {
    let end = row
    while (this.isTaken(end)) end += 1
    return end
  }

  /** Claims an empty row for a fingerprint. */
  claim(row: number, lo: number, hi: number, epoch: number): void {
    const word = row * this.stride * 2
    this.#words[word] = lo
    this.#words[word + 1] = hi
    this.pressure[row] = 0
    this.#born[row] = epoch
    this.count += 1
  }

  /** Drops a row, and moves the rows of the run after it up. */
  remove(row: number): void {
    let hole = row
    for (let next = row + 1; this.isTaken(next); next++) {
      if (this.home(this.#words[next * this.stride * 2 + 1]) > hole) continue
      this.#copy(this, next, hole)
      hole = next
    }
    this.cells.fill(0, hole * this.stride, (hole + 1) * this.stride)
    this.count -= 1
  }

  /** Copies a row of another table into this one. Returns false if there is no space for it. */
  adopt(from: Rows, row: number): boolean {
    const word = row * this.stride * 2
    const lo = from.#words[word]
    const hi = from.#words[word + 1]
    const to = ~this.find(lo, hi)
    if (this.isLast(to)) return false
    this.#copy(from, row, to)
    this.count += 1
    return true
  }

  isLast(row: number): boolean {
    return row === this.length - 1
  }

  #copy(from: Rows, row: number, to: number): void {
    const { stride, cells } = this
    // The fingerprint is copied word by word. Read as a double it could be a NaN, whose bits are not kept.
    this.#words[to * stride * 2] = from.#words[row * stride * 2]
    this.#words[to * stride * 2 + 1] = from.#words[row * stride * 2 + 1]
    for (let i = 1; i < stride; i++) cells[to * stride + i] = from.cells[row * stride + i]
    this.pressure[to] = from.pressure[row]
    this.#born[to] = from.#born[row]
  }
}

/** Returns the bytes of rows with `capacity` homes for states of `width` cells. */
export function bytesOfRows(width: number, capacity: number): number {
  return bytesOf(width + 1, capacity + TAIL + 1)
}

/** Returns the bytes of the cells, and of one byte of pressure and one of age for each row. */
function bytesOf(stride: number, length: number): number {
  return length * (stride * CELL_BYTES + 2)
}
