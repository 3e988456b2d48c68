// The number of states is bounded: a full table evicts the states that have used least, and states that have ended are swept.

import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createLimiter, fixedWindow, type Limiter } from '../../src/index.ts'
import type { SqliteDatabase, SqliteStatement } from '../../src/stores/sqlite/sqlite-database.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { freshTable, onlyValue, sqliteFiles } from './files.ts'
import { spiedDatabase, sqliteFailure } from './spied-database.ts'

const files = sqliteFiles()
const HOUR_MS = 3_600_000

const rule = fixedWindow({ limit: 3, window: '1h', name: 'hourly' })

function storeOn(database: SqliteDatabase, options: SqliteStoreOptions = {}, rules = [rule]) {
  const clock = fakeClock()
  const table = freshTable()
  const store = sqliteStore(database, { clock, table, ...options })
  const limiter = createLimiter({ rules, store }) as Limiter<'sync'>
  const rows = () => onlyValue(database, `SELECT count(*) FROM ${table}`)
  return { clock, store, limiter, rows, table }
}

function flood(limiter: Limiter<'sync'>, keys: number, name = 'flood'): void {
  for (let i = 0; i < keys; i++) limiter.hit(`${name}:${i}`)
}

/** Notes each use of a statement that counts all rows. */
function spied(statement: SqliteStatement, note: () => void, sql: string): SqliteStatement {
  if (!sql.includes('count(*)')) return statement
  return {
    run: (...values) => statement.run(...values),
    all: (...values) => statement.all(...values),
    get(...values) {
      note()
      return statement.get(...values)
    },
  }
}

describe('a full table', () => {
  const database = files.open(files.fresh())

  test.each([0, 150])('is not full any more after people have deleted all but %i rows', (left) => {
    const { limiter, store, rows, table } = storeOn(database, { maxKeys: 1000 })
    flood(limiter, 1000)
    database.exec(`DELETE FROM ${table} WHERE hash NOT IN (SELECT hash FROM ${table} ORDER BY name LIMIT ${left})`)
    const allowed = Array.from({ length: 100 }, (_, i) => limiter.hit(`key:${i % 10}`).allowed).filter(Boolean).length
    expect(allowed).toBe(10 * rule.limit)
    expect(store.size).toBe(rows())
  })

  test('counts its rows no more than it must: a search finds the number to be right', () => {
    const counts: string[] = []
    const { limiter } = storeOn(
      { exec: (sql) => database.exec(sql), prepare: (sql) => spied(database.prepare(sql), () => counts.push(sql), sql) },
      { maxKeys: 2000 },
    )
    flood(limiter, 4000)
    expect(counts).toEqual([])
  })

  test('has at most maxKeys states, and counts its evictions', () => {
    const { limiter, store, rows } = storeOn(database, { maxKeys: 200 })
    flood(limiter, 200)
    expect([store.size, store.evictions]).toEqual([200, 0])
    for (let i = 0; i < 1000; i++) {
      limiter.hit(`more:${i}`)
      expect(store.size).toBeLessThanOrEqual(200)
    }
    expect(rows()).toBe(store.size)
    expect(store.evictions).toBe(1200 - store.size)
  })

  test('keeps the keys that have used their limit, whatever comes', () => {
    const { limiter, store } = storeOn(database, { maxKeys: 500 })
    for (let i = 0; i < 200; i++) limiter.hit(`full:${i}`, { cost: 3 })
    flood(limiter, 3000)
    expect(store.size).toBeLessThanOrEqual(500)
    for (let i = 0; i < 200; i++) expect(limiter.peek(`full:${i}`).allowed).toBe(false)
  })

  test('keeps older keys that have used their limit, also in a flood of keys that have used theirs', () => {
    const { limiter, clock } = storeOn(database, { maxKeys: 500 })
    for (let i = 0; i < 100; i++) limiter.hit(`full:${i}`, { cost: 3 })
    for (let i = 0; i < 2000; i++) {
      clock.advance(1)
      limiter.hit(`flood:${i}`, { cost: 3 })
    }
    for (let i = 0; i < 100; i++) expect(limiter.peek(`full:${i}`).allowed).toBe(false)
  })

  test('drops states that have ended first', () => {
    const { limiter, store, clock } = storeOn(database, { maxKeys: 200 })
    flood(limiter, 100, 'ended')
    clock.advance(HOUR_MS)
    flood(limiter, 140)
    expect([store.size <= 200, store.evictions]).toEqual([true, 0])
    for (let i = 0; i < 140; i++) expect(limiter.get(`flood:${i}`)).toBe(1)
  })

  test('looks at no more than 256 rows for a new key, and at 40 on average', () => {
    let looked = 0
    const spied = spiedDatabase(database, { rows: (_, rows) => (looked += rows.length) })
    const { limiter } = storeOn(spied, { maxKeys: 1000 })
    for (const cost of [1, 3]) {
      for (let i = 0; i < 1000; i++) limiter.hit(`${cost}:${i}`, { cost })
      let all = 0
      for (let i = 0; i < 500; i++) {
        looked = 0
        limiter.hit(`more:${cost}:${i}`, { cost })
        // The state that was looked up, the number of states, and the end of a sweep.
        expect(looked).toBeLessThanOrEqual(256 + 4)
        all += looked
      }
      expect(all / 500).toBeLessThan(40)
    }
  })

  test('is never emptied by the call that needs space', () => {
    const second = fixedWindow({ limit: 3, window: '2h', name: 'two hours' })
    const { limiter, store } = storeOn(database, { maxKeys: 1 }, [rule, second])
    expect([1, 2, 3, 4].map(() => limiter.hit('ada').allowed)).toEqual([true, true, true, false])
    expect(store.size).toBe(2)
    for (const key of ['bob', 'cyd', 'bob', 'cyd']) limiter.hit(key)
    expect(store.size).toBeLessThanOrEqual(2)
  })

  test('shrinks to a smaller maxKeys, a few states with each new key', () => {
    const { limiter, store, table, clock } = storeOn(database, { maxKeys: 1000 })
    flood(limiter, 1000)
    const smaller = sqliteStore(database, { clock, table, maxKeys: 100 })
    flood(createLimiter({ rules: rule, store: smaller }), 300, 'more')
    expect(store.size).toBeLessThanOrEqual(100)
  })

  test('counts no evictions of a call that fails', () => {
    let isFailing = false
    const before = (sql: string) => {
      if (isFailing && sql === 'COMMIT') throw sqliteFailure('SQLITE_FULL')
    }
    const { limiter, store, rows } = storeOn(spiedDatabase(database, { before }), { maxKeys: 50 })
    flood(limiter, 50)
    isFailing = true
    expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_STORE_REFUSED' }))
    isFailing = false
    expect([store.evictions, store.size, rows()]).toEqual([0, 50, 50])
  })
})

test('the file of a flooded table stops growing', () => {
  const file = files.fresh()
  const database = files.open(file)
  const { limiter } = storeOn(database, { maxKeys: 1000 })
  const bytes = () => statSync(file).size
  const logBytes = () => statSync(`${file}-wal`).size
  flood(limiter, 2000)
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  const before = bytes()
  for (let round = 0; round < 3; round++) flood(limiter, 2000, `round ${round}`)
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  expect(before / 1000).toBeGreaterThan(50)
  expect(bytes()).toBeLessThan(1.25 * before)
  expect(bytes() / 1000).toBeLessThan(250)
  expect(logBytes()).toBeLessThan(5e6)
})

describe('states that have ended', () => {
  const database = files.open(files.fresh())

  test('are swept by later calls an hour after their end, some at a time', () => {
    const { limiter, store, clock } = storeOn(database)
    flood(limiter, 1000)
    clock.advance(2 * HOUR_MS - 1)
    for (let i = 0; i < 1000; i++) limiter.inc('ada')
    expect(store.size).toBe(1001)
    clock.advance(1)
    for (let i = 0; i < 1000; i++) {
      const before = store.size
      limiter.inc('ada')
      expect(before - store.size).toBeLessThanOrEqual(130)
    }
    expect(store.size).toBe(1)
  })

  test('are swept all at once by clean, which returns their number', () => {
    const { limiter, store, clock, rows } = storeOn(database)
    flood(limiter, 3500)
    clock.advance(HOUR_MS - 1)
    flood(limiter, 1200, 'later')
    expect(store.clean()).toBe(0)
    clock.advance(1)
    expect(store.clean()).toBe(3500)
    expect([store.size, rows(), limiter.get('later:7')]).toEqual([1200, 1200, 1])
    clock.advance(HOUR_MS)
    expect([store.clean(), store.clean(), store.size]).toEqual([1200, 0, 0])
  })

  test('are not swept in the way of another process', () => {
    const file = files.fresh()
    const { limiter, store, clock, table } = storeOn(files.open(file))
    flood(limiter, 500)
    clock.advance(3 * HOUR_MS)
    const other = files.open(file)
    // The other process takes the lock between a hit and the sweep after it.
    const failing = spiedDatabase(files.open(file), {
      before(sql) {
        if (sql.startsWith('DELETE')) throw sqliteFailure('SQLITE_BUSY')
      },
    })
    const disturbed = createLimiter({ rules: rule, store: sqliteStore(failing, { clock, table }) })
    for (let i = 0; i < 200; i++) expect(disturbed.inc('ada')).toBe(i + 1)
    expect(store.size).toBe(501)
    other.close()
  })
})
