// Files that are locked, or whose disk is full: errors are sorted, the fallback answers, and no failed call counts.

import { describe, expect, test } from 'vitest'
import { mountTmpfs } from '../../../../test/servers/full-disk.mjs'
import { DRIVERS } from '../../../../test/servers/sqlite-drivers.mjs'
import { createLimiter, type Limiter, waitingLine } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { onlyValue, sqliteFiles } from './files.ts'
import { codeOf, hourly, limiterOn } from './limiters.ts'

const files = sqliteFiles()

describe.each(Object.keys(DRIVERS))('through %s, a file that another process has locked', (driver) => {
  const file = files.fresh()
  const other = files.open(file, driver)
  const database = files.open(file, driver)

  test.each([
    ['local', { allowed: true, remaining: 2, failure: { reason: 'refused', then: 'local' } }],
    ['allow', { allowed: true, failure: { reason: 'refused', then: 'allow' } }],
    ['deny', { allowed: false, retryAfterMs: 500, failure: { reason: 'refused', then: 'deny' } }],
  ] as const)('is answered by the fallback %s', (then, decision) => {
    const { limiter } = limiterOn(database, { then })
    limiter.get('ada')
    other.exec('BEGIN IMMEDIATE')
    try {
      expect(limiter.hit('ada')).toMatchObject(decision)
      expect(limiter.failures).toMatchObject({ refused: 1, unknown: 0, fatal: 0 })
    } finally {
      other.exec('ROLLBACK')
    }
    expect(limiter.hit('ada')).toMatchObject({ source: 'store', remaining: 2 })
    expect(limiter.failures.recovered).toBe(1)
    limiter.reset('ada')
  })

  test('throws by default, and the breaker keeps later calls from the file until it is asked again', () => {
    const { limiter, clock } = limiterOn(database, { failures: 2 })
    limiter.get('ada')
    other.exec('BEGIN IMMEDIATE')
    expect([1, 2, 3].map(() => codeOf(() => limiter.hit('ada')))).toEqual(Array(3).fill('ERR_STORE_REFUSED'))
    expect(limiter.failures).toMatchObject({ refused: 2, 'not-asked': 1 })
    other.exec('ROLLBACK')
    clock.advance(500)
    expect(limiter.hit('ada').remaining).toBe(2)
    limiter.reset('ada')
  })

  test('is waited for once for busyTimeoutMs, and then for a quarter of it', () => {
    const { limiter } = limiterOn(database, { failures: 100 }, 200)
    limiter.get('ada')
    const refusedAfterMs = () => {
      const startMs = performance.now()
      expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_REFUSED')
      return performance.now() - startMs
    }
    other.exec('BEGIN IMMEDIATE')
    const firstMs = refusedAfterMs()
    const laterMs = Array.from({ length: 5 }, refusedAfterMs).sort((a, b) => a - b)[2]
    other.exec('ROLLBACK')
    expect(firstMs).toBeGreaterThanOrEqual(195)
    expect(firstMs).toBeLessThan(3000)
    expect(laterMs).toBeGreaterThanOrEqual(48)
    expect(laterMs).toBeLessThan(0.6 * firstMs)
    limiter.hit('ada')
    other.exec('BEGIN IMMEDIATE')
    // The file was free in between.
    expect(refusedAfterMs()).toBeGreaterThanOrEqual(195)
    other.exec('ROLLBACK')
    limiter.reset('ada')
  })

  test('is still read: peeks and denied hits need no lock', () => {
    const { limiter } = limiterOn(database)
    limiter.hit('ada', { cost: 3 })
    other.exec('BEGIN IMMEDIATE')
    expect(limiter.peek('ada')).toMatchObject({ allowed: false, source: 'store' })
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, source: 'store' })
    expect(limiter.get('bob')).toBe(0)
    other.exec('ROLLBACK')
    limiter.reset('ada')
  })

  test('is not opened before it is free', () => {
    const { limiter } = limiterOn(files.open(file, driver))
    other.exec('BEGIN EXCLUSIVE')
    expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_REFUSED')
    other.exec('ROLLBACK')
    expect(limiter.hit('ada').remaining).toBe(2)
  })
})

describe.each(Object.keys(DRIVERS))('through %s, a disk that is full', (driver) => {
  /** Hits new keys until a hit fails. Returns the keys that were counted, and the failure. */
  function fill(limiter: Limiter<'sync'>) {
    for (let counted = 0; counted < 100_000; counted++) {
      const code = codeOf(() => limiter.hit(`${counted}:${'x'.repeat(200)}`))
      if (code !== 'none') return { counted, code }
    }
    throw new Error('the disk is not full')
  }

  test('by max_page_count refuses new keys, counts nothing for them, and works again with more space', () => {
    const database = files.open(files.fresh(), driver)
    const { limiter, store } = limiterOn(database, { failures: 100 })
    limiter.hit('ada')
    database.exec(`PRAGMA max_page_count = ${Number(onlyValue(database, 'PRAGMA page_count')) + 3}`)
    const { counted, code } = fill(limiter)
    expect([code, counted > 5]).toEqual(['ERR_STORE_REFUSED', true])
    expect(limiter.failures.refused).toBe(1)
    expect(store.size).toBe(counted + 1)
    expect(onlyValue(database, 'SELECT count(*) FROM sluice_states')).toBe(counted + 1)
    // Keys that exist need no space.
    expect(limiter.hit('ada').remaining).toBe(1)
    database.exec('PRAGMA max_page_count = 100000')
    expect(limiter.hit(`${counted}:${'x'.repeat(200)}`).remaining).toBe(2)
    expect(onlyValue(database, 'PRAGMA integrity_check')).toBe('ok')
  })

  test('by a full file system refuses, keeps the counts, and works again with more space', (context) => {
    const disk = mountTmpfs(files.folder, 2)
    if (disk === undefined) return context.skip('only root can mount a file system')
    try {
      const database = files.open(disk.path('full.db'), driver)
      const { limiter, store } = limiterOn(database, { failures: 100_000 })
      limiter.hit('ada')
      disk.fill()
      const { counted, code } = fill(limiter)
      expect(code).toBe('ERR_STORE_REFUSED')
      expect(codeOf(() => limiter.hit('ada', { cost: 2 }))).toBe('ERR_STORE_REFUSED')
      // Reads need no space.
      expect([limiter.get('ada'), store.size]).toEqual([1, counted + 1])
      disk.free()
      expect(limiter.hit('ada').remaining).toBe(1)
      expect(onlyValue(database, 'SELECT count(*) FROM sluice_states')).toBe(counted + 1)
      expect(onlyValue(database, 'PRAGMA integrity_check')).toBe('ok')
      database.close()
    } finally {
      disk.unmount()
    }
  })
})

test('a hit that another process overtakes between its read and its write is decided again', () => {
  const file = files.fresh()
  const real = fakeClock()
  const other = createLimiter({ rules: hourly, store: sqliteStore(files.open(file), { clock: real }) })
  let isOvertaken = false
  // The clock is read between the reads and the writes of a call.
  const now = () => {
    if (isOvertaken) {
      isOvertaken = false
      other.hit('ada', { cost: 2 })
    }
    return real.now()
  }
  const limiter = createLimiter({ rules: hourly, store: sqliteStore(files.open(file), { clock: { now } }) })
  limiter.get('ada')
  isOvertaken = true
  expect(limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 0 })
  limiter.reset('ada')
  isOvertaken = true
  expect(limiter.hit('ada', { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
  expect(limiter.get('ada')).toBe(2)
})

test('a caller of wait gets the error of a store that fails', async () => {
  const file = files.fresh()
  const other = files.open(file)
  const clock = fakeClock()
  const store = sqliteStore(files.open(file), { clock, busyTimeoutMs: 0 })
  const limiter = createLimiter({ rules: hourly, store, waiting: waitingLine() })
  limiter.hit('ada', { cost: 3 })
  const waits = Promise.allSettled([limiter.wait('ada'), limiter.wait('ada')])
  other.exec('BEGIN IMMEDIATE')
  clock.advance(3_600_000)
  expect((await waits).map((wait) => wait.status === 'rejected' && wait.reason.code)).toEqual(Array(2).fill('ERR_STORE_REFUSED'))
  other.exec('ROLLBACK')
  expect(limiter.get('ada')).toBe(0)
})
