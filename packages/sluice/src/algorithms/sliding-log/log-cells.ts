// The cells of a sliding log: expiresAt, base, head, count, slots, then a ring of `slots` entries (time, sum). Numbers of entries
// only grow: the oldest entry has the number `head` and is in slot `head % slots`. `sum` is the total of units spent up to and
// including its entry, modulo 2^53. `base` is the sum before the oldest entry. So the cost of a range of entries is the
// difference of two sums, and searches are binary.

import { MAX } from '../../core/whole-numbers.ts'

export const EXPIRES_AT = 0
export const BASE = 1
export const HEAD = 2
export const COUNT = 3
export const SLOTS = 4
export const HEADER = 5

/** Cells of an entry. */
export const TIME = 0
export const SUM = 1
export const ENTRY = 2

/** Sums are counted modulo this number. A log holds at most MAX units, which is less, so differences are exact. */
const MODULUS = MAX + 1

export function widthToSpend(cells: Float64Array, at: number, spends = 1): number {
  return HEADER + (cells[at + COUNT] + spends) * ENTRY
}

export function move(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void {
  frame(from, fromAt, to, toAt, toWidth)
  copy(from, fromAt, to, toAt, first(from, fromAt), end(from, fromAt))
}

export function frame(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, toWidth: number): void {
  for (let i = 0; i < SLOTS; i++) to[toAt + i] = from[fromAt + i]
  to[toAt + SLOTS] = Math.floor((toWidth - HEADER) / ENTRY)
}

export function first(cells: Float64Array, at: number): number {
  return cells[at + HEAD]
}

export function end(cells: Float64Array, at: number): number {
  return cells[at + HEAD] + cells[at + COUNT]
}

export function copy(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, start: number, end: number): void {
  for (let number = start; number < end; number++) {
    const source = slot(from, fromAt, number)
    const target = slot(to, toAt, number)
    to[target + TIME] = from[source + TIME]
    to[target + SUM] = from[source + SUM]
  }
}

/**
 * Searches binarily: a refund of one entry changes the time or the sum of each entry after it, so the changed entries are the last.
 */
export function firstChanged(
  from: Float64Array,
  fromAt: number,
  to: Float64Array,
  toAt: number,
  start: number,
  end: number,
): number {
  const isSame = (number: number): boolean => {
    const source = slot(from, fromAt, number)
    const target = slot(to, toAt, number)
    return to[target + TIME] === from[source + TIME] && to[target + SUM] === from[source + SUM]
  }
  if (end <= start || isSame(end - 1)) return end
  let low = start
  let high = end - 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isSame(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the index of the entry with this number in `cells`. */
function slot(cells: Float64Array, at: number, number: number): number {
  return at + HEADER + (number % cells[at + SLOTS]) * ENTRY
}

/** Returns the index of entry `i`, counted from the oldest, in `cells`. */
export function entry(cells: Float64Array, at: number, i: number): number {
  return slot(cells, at, cells[at + HEAD] + i)
}

export function newest(cells: Float64Array, at: number): number {
  return entry(cells, at, cells[at + COUNT] - 1)
}

/** The sum of the newest entry. */
export function lastSum(cells: Float64Array, at: number): number {
  return sumBefore(cells, at, cells[at + COUNT])
}

/** The sum of the entry before entry `i`. */
export function sumBefore(cells: Float64Array, at: number, i: number): number {
  return i === 0 ? cells[at + BASE] : cells[entry(cells, at, i - 1) + SUM]
}

/** Returns the number of entries that are not after `timeMs`. Checks both ends first, because the search mostly ends there. */
export function countUpTo(cells: Float64Array, at: number, timeMs: number): number {
  const count = cells[at + COUNT]
  if (count === 0 || cells[entry(cells, at, 0) + TIME] > timeMs) return 0
  if (cells[newest(cells, at) + TIME] <= timeMs) return count
  let low = 1
  let high = count - 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (cells[entry(cells, at, middle) + TIME] <= timeMs) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the first entry at which the entries from `start` on have cost `units` or more. `before` is the sum before `start`. */
export function entryReaching(cells: Float64Array, at: number, start: number, before: number, units: number): number {
  let low = start
  let high = cells[at + COUNT] - 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (difference(cells[entry(cells, at, middle) + SUM], before) < units) low = middle + 1
    else high = middle
  }
  return low
}

export function dropOldest(cells: Float64Array, at: number, dropped: number): void {
  cells[at + HEAD] += dropped
  cells[at + COUNT] -= dropped
}

/**
 * Sets the sum of the entry of `nowMs`, and adds the entry if there is none. If the ring is full, the newest entry moves to
 * `nowMs` instead: the log gets coarser, and units count longer, never shorter.
 */
export function append(cells: Float64Array, at: number, nowMs: number, sum: number): void {
  const count = cells[at + COUNT]
  const isNew = count === 0 || cells[newest(cells, at) + TIME] !== nowMs
  if (isNew && count < cells[at + SLOTS]) cells[at + COUNT] = count + 1
  const last = newest(cells, at)
  cells[last + TIME] = nowMs
  cells[last + SUM] = sum
}

export function plus(sum: number, units: number): number {
  return sum < MODULUS - units ? sum + units : sum - (MODULUS - units)
}

export function difference(sum: number, before: number): number {
  return sum >= before ? sum - before : sum - before + MODULUS
}
