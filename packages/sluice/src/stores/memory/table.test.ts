import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../testing/random.ts'
import { KeyHash } from './key-hash.ts'
import { Table } from './table.ts'

const FAR = 1e12

/** A table as a map from keys to numbers, with every row that has not been removed. */
class Shadowed {
  readonly table: Table
  readonly expected = new Map<string, number>()
  readonly #hash = new KeyHash()

  constructor(maxRows: number) {
    this.table = new Table(2, maxRows)
  }

  put(key: string, value: number, expiresAt = FAR): void {
    const hi = this.#hash.hash(key)
    const { lo } = this.#hash
    let row = this.table.rowsFor(hi).find(lo, hi)
    if (row < 0) {
      this.table.prepare(1)
      row = this.table.claim(lo, hi)
    }
    const rows = this.table.rowsFor(hi)
    rows.cells[rows.at(row)] = expiresAt
    rows.cells[rows.at(row) + 1] = value
    this.expected.set(key, value)
  }

  remove(key: string): void {
    const hi = this.#hash.hash(key)
    const rows = this.table.rowsFor(hi)
    const row = rows.find(this.#hash.lo, hi)
    if (row >= 0) this.table.drop(rows, row)
    this.expected.delete(key)
  }

  value(key: string): number | undefined {
    const hi = this.#hash.hash(key)
    const rows = this.table.rowsFor(hi)
    const row = rows.find(this.#hash.lo, hi)
    return row < 0 ? undefined : rows.cells[rows.at(row) + 1]
  }

  wrongKeys(): string[] {
    return [...this.expected].filter(([key, value]) => this.value(key) !== value).map(([key]) => key)
  }
}

test('every key keeps its numbers while the table grows, moves and shrinks under adds and removals', () => {
  const random = seededRandom()
  const shadowed = new Shadowed(200_000)
  for (let step = 0; step < 300_000; step++) {
    // Three phases: mostly adding, mostly removing, mostly adding again.
    const adds = step < 120_000 || step > 220_000 ? 8 : 2
    const key = `k${random.whole(0, 60_000)}`
    if (random.whole(0, 9) < adds) shadowed.put(key, step)
    else shadowed.remove(key)
    if (step % 500 === 0) shadowed.table.sweep(0, 1 / 60)
    if (step % 20_000 === 0) expect(shadowed.wrongKeys(), `SEED=${random.seed}, step ${step}`).toEqual([])
  }
  expect(shadowed.wrongKeys(), `SEED=${random.seed}`).toEqual([])
  expect(shadowed.table.count).toBe(shadowed.expected.size)
})

test('at every point of every move, each key is found where it is', () => {
  for (let round = 0; round < 20; round++) {
    const shadowed = new Shadowed(10_000)
    for (let i = 0; i < 400; i++) {
      shadowed.put(`k${i}`, i)
      if (shadowed.wrongKeys().length > 0) expect.fail(`after ${i + 1} keys, ${shadowed.wrongKeys()} were not found`)
    }
    expect(shadowed.table.count).toBe(400)
  }
})

test('adding to a growing table moves a bounded number of rows at a time', () => {
  const shadowed = new Shadowed(1_000_000)
  let largestStep = 0
  for (let i = 0; i < 200_000; i++) {
    const before = shadowed.table.rows.count
    shadowed.put(`k${i}`, i)
    // While moving, the new table gains the rows that were moved: 16, and to the end of a run.
    largestStep = Math.max(largestStep, shadowed.table.rows.count - before)
  }
  expect(largestStep).toBeGreaterThan(1)
  expect(largestStep).toBeLessThan(500)
})

test('cleaning drops exactly what has expired, also in the middle of a move', () => {
  const shadowed = new Shadowed(100_000)
  for (let i = 0; i < 10_000; i++) shadowed.put(`k${i}`, i, i % 3 === 0 ? 500 : 1000)
  expect(shadowed.table.clean(499)).toBe(0)
  expect(shadowed.table.clean(500)).toBe(3334)
  for (let i = 0; i < 10_000; i += 3) shadowed.expected.delete(`k${i}`)
  expect(shadowed.wrongKeys()).toEqual([])
  expect(shadowed.value('k0')).toBeUndefined()
  expect(shadowed.table.count).toBe(6666)
})

test('a table that has emptied becomes small again', () => {
  const shadowed = new Shadowed(1_000_000)
  for (let i = 0; i < 100_000; i++) shadowed.put(`k${i}`, i, 1000)
  expect(shadowed.table.rows.capacity).toBeGreaterThan(140_000)
  for (let i = 0; i < 20; i++) shadowed.put(`kept${i}`, i)
  for (let second = 0; second < 600; second++) shadowed.table.sweep(1000, 1 / 60)
  expect(shadowed.table.rows.capacity).toBe(256)
  for (let i = 0; i < 20; i++) expect(shadowed.value(`kept${i}`)).toBe(i)
})

test('a table whose last run reaches its end grows and loses nothing', () => {
  const table = new Table(2, 10_000)
  // The highest homes only: fingerprints that no keyed hash would give.
  for (let i = 1; i <= 2000; i++) {
    table.prepare(1)
    table.claim(i, -1)
    const rows = table.rowsFor(-1)
    rows.cells[rows.at(rows.find(i, -1)) + 1] = i
  }
  for (let i = 1; i <= 2000; i++) {
    const rows = table.rowsFor(-1)
    expect(rows.cells[rows.at(rows.find(i, -1)) + 1]).toBe(i)
  }
})

describe('at the bound', () => {
  test('what has expired goes first', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 100; i++) shadowed.put(`k${i}`, i, i < 30 ? 500 : FAR)
    let dropped = 0
    for (let looks = 0; looks < 4; looks++) dropped += shadowed.table.look(500)
    expect(dropped).toBe(30)
    for (let i = 30; i < 100; i++) expect(shadowed.value(`k${i}`)).toBe(i)
  })

  test('then the row under the least pressure, and of those the one that ends first', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 30; i++) shadowed.put(`k${i}`, i, FAR + i)
    const { rows } = shadowed.table
    for (let row = 0; row < rows.length; row++) {
      const value = rows.cells[rows.at(row) + 1]
      rows.pressure[row] = value === 11 || value === 27 ? 10 : 200
    }
    expect(shadowed.table.look(0)).toBe(0)
    expect(rows.cells[rows.at(shadowed.table.victim) + 1]).toBe(11)
  })
})
