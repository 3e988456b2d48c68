import { describe, expect, test } from 'vitest'
import { longestRun } from '../../../test/longest-run.ts'
import { FULL } from '../../core/rule-log.ts'
import { seededRandom } from '../../testing/random.ts'
import { ByteBudget } from './byte-budget.ts'
import { eachRow } from './dump.ts'
import { KeyHash } from './key-hash.ts'
import { PINNED, Rows } from './rows.ts'
import { Table } from './table.ts'
import { Victims } from './victims.ts'

const FAR = 1e12
const AMPLE = 2 ** 40
const ALL = 2 ** 20

function newTable(maxRows: number, maxBytes = AMPLE): Table {
  return new Table({ maxKeys: maxRows, budget: new ByteBudget(maxBytes) }, 2)
}

/** A table as a map from keys to numbers, with every row that has not been removed. */
class Shadowed {
  readonly table: Table
  readonly expected = new Map<string, number>()
  readonly #hash = new KeyHash()

  constructor(maxRows: number) {
    this.table = newTable(maxRows)
    this.#hash.setSeed()
  }

  put(key: string, value: number, expiresAt = FAR): void {
    const hi = this.#hash.hash(key)
    const { lo } = this.#hash
    let row = this.table.rowsFor(hi).find(lo, hi)
    if (row < 0) {
      this.table.prepare(1, 0)
      row = this.table.claim(lo, hi, 0)
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

  /** Drops all expired rows, as the store's `clean` does. Returns their number. */
  clean(nowMs: number): number {
    const before = this.table.count
    this.table.finishMove(nowMs)
    this.table.sweep(nowMs, 1, ALL)
    return before - this.table.count
  }

  wrongKeys(): string[] {
    return [...this.expected].filter(([key, value]) => this.value(key) !== value).map(([key]) => key)
  }
}

test.each([256, 384, 65_536, 98_304, 2 ** 20, 1.5 * 2 ** 20])(
  'homes rise with the fingerprint, and each of %d has its equal share of all',
  (capacity) => {
    const share = 2 ** 32 / capacity
    const rows = new Rows(1, capacity)
    for (const i of [0, 1, 2, 3, 100, capacity >> 1, capacity - 2, capacity - 1]) {
      // The three lowest bits of a fingerprint do not count, so a home begins up to 7 later.
      expect(rows.home((Math.ceil(i * share) + 7) | 0)).toBe(i)
      expect(rows.home((Math.ceil((i + 1) * share) - 8) | 0)).toBe(i)
    }
  },
)

test('every key keeps its numbers while the table grows, moves and shrinks under adds and removals', () => {
  const random = seededRandom()
  const shadowed = new Shadowed(200_000)
  for (let step = 0; step < 300_000; step++) {
    // Three phases: mostly adding, mostly removing, mostly adding again.
    const adds = step < 120_000 || step > 220_000 ? 8 : 2
    const key = `k${random.whole(0, 60_000)}`
    if (random.whole(0, 9) < adds) shadowed.put(key, step)
    else shadowed.remove(key)
    if (step % 500 === 0) shadowed.table.sweep(0, 1 / 60, ALL)
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
    // During a resize, each claim moves 16 rows into the new table, and further rows up to the end of a run.
    largestStep = Math.max(largestStep, shadowed.table.rows.count - before)
  }
  expect(largestStep).toBeGreaterThan(1)
  expect(largestStep).toBeLessThan(500)
})

test('cleaning drops exactly what has expired, also in the middle of a move', () => {
  const shadowed = new Shadowed(100_000)
  for (let i = 0; i < 10_000; i++) shadowed.put(`k${i}`, i, i % 3 === 0 ? 500 : 1000)
  expect(shadowed.clean(499)).toBe(0)
  expect(shadowed.clean(500)).toBe(3334)
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
  for (let second = 0; second < 600; second++) shadowed.table.sweep(1000, 1 / 60, ALL)
  expect(shadowed.table.rows.capacity).toBe(256)
  for (let i = 0; i < 20; i++) expect(shadowed.value(`kept${i}`)).toBe(i)
})

test('a table whose rows are crowded is not halved, because their runs would become thousands of rows long', () => {
  const shadowed = new Shadowed(1_000_000)
  const { table } = shadowed
  for (let i = 0; i < 150_000; i++) shadowed.put(`k${i}`, i, 1000)
  const { capacity } = table.rows
  expect(capacity).toBe(262_144)
  const sweep = (nowMs: number): void => {
    table.sweep(nowMs, 1 / 60, ALL)
    expect(longestRun(table.rows)).toBeLessThan(400)
  }
  // The clock is ahead while three quarters of the rows are swept, and steps back.
  for (let second = 0; second < 45; second++) sweep(1000)
  for (let second = 0; second < 120; second++) sweep(500)
  expect(table.count).toBeLessThan(0.35 * 0.7 * capacity)
  expect(table.rows.capacity).toBe(capacity)
  for (let second = 0; second < 200; second++) sweep(1000)
  expect(table.rows.capacity).toBe(256)
})

test('a sweep keeps the age of old rows from starting again', () => {
  const table = newTable(100)
  const row = table.claim(1, 2, table.epochs.present)
  const rows = table.rowsFor(2)
  rows.cells[rows.at(row)] = FAR
  for (let epoch = 1; epoch <= 300; epoch++) {
    table.epochs.countClaim(1, 1, true)
    if (epoch % 50 === 0) table.sweep(0, 1, ALL)
  }
  expect(rows.age(row, table.epochs.present)).toBe(192)
})

test('a table whose last run reaches its end grows and loses nothing', () => {
  const table = newTable(10_000)
  // The highest homes only: fingerprints that no keyed hash would give.
  for (let i = 1; i <= 2000; i++) {
    table.prepare(1, -1)
    table.claim(i, -1, 0)
    const rows = table.rowsFor(-1)
    rows.cells[rows.at(rows.find(i, -1)) + 1] = i
  }
  for (let i = 1; i <= 2000; i++) {
    const rows = table.rowsFor(-1)
    expect(rows.cells[rows.at(rows.find(i, -1)) + 1]).toBe(i)
  }
})

test('a move leaves behind what has expired', () => {
  const shadowed = new Shadowed(100_000)
  for (let i = 0; i < 10_000; i++) shadowed.put(`k${i}`, i, i % 2 === 0 ? 500 : FAR)
  while (shadowed.table.rows.count === shadowed.table.count) shadowed.put(`more${shadowed.table.count}`, 0)
  for (let steps = 0; shadowed.table.rows.count < shadowed.table.count; steps++) {
    shadowed.table.tend(500)
    expect(steps).toBeLessThan(10_000)
  }
  for (let i = 0; i < 10_000; i++) expect(shadowed.value(`k${i}`)).toBe(i % 2 === 0 ? undefined : i)
})

test('a table is at least half as full as it may be once it has grown beyond 65,536 homes', () => {
  const shadowed = new Shadowed(1_000_000)
  const { table } = shadowed
  const capacities = new Set<number>()
  for (let i = 0; i < 400_000; i++) {
    shadowed.put(`k${i}`, i)
    const { capacity } = table.rows
    if (capacity > 98_304 && table.count < 0.35 * capacity) expect.fail(`${table.count} rows in ${capacity} homes`)
    capacities.add(capacity)
  }
  expect([...capacities].slice(-5)).toEqual([196_608, 262_144, 393_216, 524_288, 786_432])
  expect(shadowed.wrongKeys()).toEqual([])
})

test('a table that may have no more bytes does not grow, but fills the rows that it has', () => {
  const table = newTable(1_000_000, 2 ** 22)
  const hash = new KeyHash()
  hash.setSeed()
  let claimed = 0
  for (; table.hasSpace(1); claimed++) {
    table.prepare(1, 0)
    const hi = hash.hash(`k${claimed}`)
    table.claim(hash.lo, hi, 0)
  }
  expect(table.bytes).toBeLessThan(2 ** 22)
  expect(table.rows.capacity).toBe(2 ** 15)
  expect(table.count).toBe(Math.floor(0.7 * 2 ** 15))
})

describe('a search', () => {
  const wholeTable = ALL

  test('drops what has expired', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 80; i++) shadowed.put(`k${i}`, i, i < 30 ? 500 : FAR)
    expect(shadowed.table.search(wholeTable, 500, 0, new Victims(100))).toBe(30)
    for (let i = 30; i < 80; i++) expect(shadowed.value(`k${i}`)).toBe(i)
  })

  test('finds the rows under the least pressure, and evicts no row twice', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 80; i++) shadowed.put(`k${i}`, i)
    const { rows } = shadowed.table
    for (let row = 0; row < rows.length; row++) rows.pressure[row] = 20 + rows.cells[rows.at(row) + 1]
    const victims = new Victims(8)
    expect(shadowed.table.search(wholeTable, 0, 0, victims)).toBe(0)
    expect(victims.evict()).toBe(8)
    for (let i = 0; i < 80; i++) expect(shadowed.value(`k${i}`)).toBe(i < 8 ? undefined : i)
  })

  test('of full rows gives up young ones, the oldest of them first, and of old ones only one', () => {
    const table = newTable(100)
    for (let i = 1; i <= 80; i++) {
      table.prepare(1, 0)
      // The rows are spread over all homes. Row i was claimed in epoch i.
      const hi = Math.floor((i / 81) * 2 ** 32) | 0
      const row = table.claim(i, hi, i)
      const rows = table.rowsFor(hi)
      rows.cells[rows.at(row)] = FAR
      rows.pressure[row] = FULL
    }
    const left = (): number[] => {
      const los: number[] = []
      eachRow(table, 0, (_rows, _row, [lo]) => los.push(lo))
      return los.sort((a, b) => a - b)
    }
    const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1)
    const two = new Victims(2)
    table.search(wholeTable, 0, 80, two)
    expect(two.evict()).toBe(2)
    expect(left()).toEqual([...upTo(77), 80])
    const eight = new Victims(8)
    table.search(wholeTable, 0, 80, eight)
    expect(eight.evict()).toBe(1)
    expect(left()).toEqual(upTo(77))
    // Now all rows are old, so the newest is evicted.
    eight.clear()
    table.search(wholeTable, 0, 90, eight)
    expect(eight.evict()).toBe(1)
    expect(left()).toEqual(upTo(76))
  })

  test('takes one of eight, so that rows stay spread evenly however long a flood lasts', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 80; i++) shadowed.put(`k${i}`, i)
    shadowed.table.rows.pressure.fill(100)
    const victims = new Victims(50)
    shadowed.table.search(wholeTable, 0, 0, victims)
    expect(victims.live).toBe(80)
    expect(victims.evict()).toBe(10)
  })

  test('drops no row that is pinned, though it has ended', () => {
    const shadowed = new Shadowed(100)
    for (let i = 0; i < 40; i++) shadowed.put(`k${i}`, i, 500)
    const { rows } = shadowed.table
    for (let row = 0; row < rows.length; row++) if (rows.cells[rows.at(row) + 1] % 2 === 1) rows.pressure[row] = PINNED
    expect(shadowed.table.search(wholeTable, 500, 0, new Victims(100))).toBe(20)
    for (let i = 0; i < 40; i++) expect(shadowed.value(`k${i}`)).toBe(i % 2 === 1 ? i : undefined)
  })

  test('looks at no more rows than it may, however sparse the table is', () => {
    const shadowed = new Shadowed(1_000_000)
    for (let i = 0; i < 100_000; i++) shadowed.put(`k${i}`, i)
    for (let i = 10; i < 100_000; i++) shadowed.remove(`k${i}`)
    const before = shadowed.table.looked
    shadowed.table.search(256, 0, 0, new Victims(8))
    expect(shadowed.table.looked - before).toBe(256)
  })

  test('works at every point of a move, in both directions', () => {
    const random = seededRandom()
    const shadowed = new Shadowed(20_000)
    const victims = new Victims(4)
    for (let step = 0; step < 60_000; step++) {
      const grows = step % 30_000 < 15_000
      if (grows || random.whole(0, 3) === 0) shadowed.put(`k${step}`, step)
      if (!grows) {
        victims.clear()
        shadowed.table.search(256, 0, 0, victims)
        victims.evict()
        shadowed.table.tend(0)
      }
      if (step % 5000 !== 0) continue
      let live = 0
      for (const [key, value] of shadowed.expected) {
        const found = shadowed.value(key)
        if (found === undefined) shadowed.expected.delete(key)
        else if (found !== value) expect.fail(`SEED=${random.seed}, ${key} is ${found}`)
        else live += 1
      }
      expect(shadowed.table.count, `SEED=${random.seed}, step ${step}`).toBe(live)
    }
  })
})
