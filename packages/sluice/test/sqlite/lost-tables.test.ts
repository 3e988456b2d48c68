// One of the two tables is dropped, or the row with the seed deleted, while stores are open. Counts are kept, or a call says that they
// are not: no store goes on with counts of its own.

import { describe, expect, test } from 'vitest'
import { createLimiter, type Limiter } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { onlyValue, sqliteFiles } from './files.ts'
import { codeOf, hourly } from './limiters.ts'

const files = sqliteFiles()

const LOSSES = [
  ['the table of the seed is dropped', 'DROP TABLE sluice_states_meta'],
  ['the row of the seed is deleted', 'DELETE FROM sluice_states_meta'],
] as const

/** Stores on connections of their own, as several processes have them. */
function opened() {
  const file = files.fresh()
  const database = files.open(file)
  const clock = fakeClock()
  const process = () => {
    const store = sqliteStore(files.open(file), { clock })
    return { store, limiter: createLimiter({ rules: hourly, store }) }
  }
  const rows = () => onlyValue(database, 'SELECT count(*) FROM sluice_states')
  return { database, process, rows }
}

/** Hits a key until it is denied. Returns the numbers of allowed hits and of errors. */
function drain(limiters: readonly Limiter<'sync'>[], key: string) {
  const counts = { allowed: 0, errors: 0 }
  for (let i = 0; i < 12; i++) {
    try {
      if (limiters[i % limiters.length].hit(key).allowed) counts.allowed += 1
    } catch {
      counts.errors += 1
    }
  }
  return counts
}

describe.each(LOSSES)('%s', (_, sql) => {
  test('a process that knows the seed writes it again: every count is kept', () => {
    const { database, process, rows } = opened()
    const { limiter, store } = process()
    for (let i = 0; i < 20; i++) limiter.hit(`user:${i}`, { cost: 3 })
    database.exec(sql)
    expect(codeOf(() => limiter.hit('new'))).toBe('ERR_STORE_FATAL')
    expect(limiter.hit('new').remaining).toBe(2)
    for (let i = 0; i < 20; i++) expect(limiter.hit(`user:${i}`).allowed).toBe(false)
    expect([store.size, rows()]).toEqual([21, 21])
  })

  test('of several processes that know it, all go on with the same counts', () => {
    const { database, process } = opened()
    const both = [process().limiter, process().limiter]
    both[0].hit('ada')
    both[1].hit('ada')
    database.exec(sql)
    // Each of them finds out once.
    expect(drain(both, 'bob')).toEqual({ allowed: 3, errors: 2 })
    expect(drain(both, 'ada')).toEqual({ allowed: 1, errors: 0 })
  })

  test('a process that does not know it says once that counts begin anew, and the others follow it', () => {
    const { database, process, rows } = opened()
    const before = process()
    expect(drain([before.limiter], 'ada')).toEqual({ allowed: 3, errors: 0 })
    database.exec(sql)
    const after = process()
    expect(() => after.limiter.hit('eve')).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_REFUSED', message: expect.stringContaining('all counts begin anew') }),
    )
    // The older process finds out with its next new state, before anything is counted twice.
    expect(drain([after.limiter, before.limiter], 'ada')).toEqual({ allowed: 3, errors: 1 })
    expect(drain([before.limiter, after.limiter], 'bob')).toEqual({ allowed: 3, errors: 0 })
    expect([before.store.size, after.store.size]).toEqual([rows(), rows()])
  })
})

test('the table of states is dropped: one call fails, and counts and their number begin anew', () => {
  const { database, process, rows } = opened()
  const { limiter, store } = process()
  for (let i = 0; i < 20; i++) limiter.hit(`user:${i}`)
  database.exec('DROP TABLE sluice_states')
  expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_FATAL')
  expect(limiter.hit('ada').remaining).toBe(2)
  expect([store.size, rows()]).toEqual([1, 1])
})

test('the seed is overwritten: a call says that counts begin anew', () => {
  const { database, process } = opened()
  const { limiter } = process()
  limiter.hit('ada')
  database.exec('UPDATE sluice_states_meta SET seed0 = seed0 + 1')
  expect(codeOf(() => limiter.hit('bob'))).toBe('ERR_STORE_FATAL')
  expect(codeOf(() => limiter.hit('bob'))).toBe('ERR_STORE_REFUSED')
  expect(drain([limiter, process().limiter], 'ada')).toEqual({ allowed: 3, errors: 0 })
})
