// Files that are damaged, deleted or closed, and statements that fail: errors are sorted, and a failed call changes nothing.

import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DRIVERS } from '../../../../test/servers/sqlite-drivers.mjs'
import { createLimiter, tokenBucket } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { freshTable, onlyValue, sqliteFiles } from './files.ts'
import { codeOf, hourly, limiterOn } from './limiters.ts'
import { spiedDatabase, sqliteFailure } from './spied-database.ts'

const files = sqliteFiles()

describe('a file that is damaged', () => {
  test.each(Object.keys(DRIVERS))('or is no database fails every call as fatal, and the fallback answers: %s', (driver) => {
    const file = files.fresh()
    writeFileSync(file, 'this is no database. '.repeat(500))
    const database = files.open(file, driver)
    const { limiter } = limiterOn(database)
    expect([1, 2].map(() => codeOf(() => limiter.hit('ada')))).toEqual(['ERR_STORE_FATAL', 'ERR_STORE_FATAL'])
    const local = limiterOn(database, { then: 'local' }).limiter
    expect([1, 2, 3, 4].map(() => local.hit('ada').allowed)).toEqual([true, true, true, false])
    expect(local.failures.fatal).toBe(4)
  })

  test.each(Object.keys(DRIVERS))('in its pages fails calls as fatal: %s', (driver) => {
    const file = files.fresh()
    const before = files.open(file, driver)
    const { limiter } = limiterOn(before)
    for (let i = 0; i < 200; i++) limiter.hit(`user:${i}`)
    const pageSize = Number(onlyValue(before, 'PRAGMA page_size'))
    const pages = Number(onlyValue(before, 'PRAGMA page_count'))
    before.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    before.close()
    damage(file, pageSize, pages)
    const { limiter: after } = limiterOn(files.open(file, driver), { then: 'deny' })
    expect(after.hit('user:1')).toMatchObject({ allowed: false, failure: { reason: 'fatal' } })
  })

  test('in one value fails its own key as fatal, with its name, until a reset', () => {
    const database = files.open(files.fresh())
    const { limiter } = limiterOn(database, { failures: 1 })
    const overwrite = (value: string) => database.exec(`UPDATE sluice_states SET value = ${value} WHERE name LIKE 'ada|%'`)
    const nan = '01000000000000f87f000000000000f87f'
    for (const value of ["'a text'", "x'01'", "x'02'", "x'0100'", `x'${nan}'`, '7']) {
      limiter.hit('ada')
      overwrite(value)
      expect(() => limiter.hit('ada'), value).toThrow(
        expect.objectContaining({ code: 'ERR_STORE_FATAL', value: 'ada|fixed-window%0000hourly' }),
      )
      expect(limiter.hit('bob').source, value).toBe('store')
      limiter.reset('ada')
      expect(limiter.hit('ada').remaining, value).toBe(2)
      limiter.reset('ada')
      limiter.reset('bob')
    }
    expect(limiter.failures['not-asked']).toBe(0)
  })
})

describe('statements that fail', () => {
  const both = [hourly, tokenBucket({ capacity: 5, refill: 1, every: '1h', name: 'bucket' })]

  test('in the middle of a call take back the whole call', () => {
    const database = files.open(files.fresh())
    const store = sqliteStore(database)
    const limiter = createLimiter({ rules: both, store })
    limiter.get('ada')
    database.exec(
      `CREATE TRIGGER no_buckets BEFORE INSERT ON sluice_states WHEN NEW.name LIKE '%bucket' BEGIN SELECT RAISE(FAIL, 'no'); END`,
    )
    expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_FATAL')
    expect([store.size, onlyValue(database, 'SELECT count(*) FROM sluice_states')]).toEqual([0, 0])
    database.exec('DROP TRIGGER no_buckets')
    expect(limiter.hit('ada').remaining).toBe(2)
    expect(store.size).toBe(2)
  })

  test.each([
    ['COMMIT', 'SQLITE_FULL', 'ERR_STORE_REFUSED'],
    ['COMMIT', 'SQLITE_IOERR_WRITE', 'ERR_STORE_UNKNOWN'],
    ['COMMIT', 'SQLITE_IOERR_FSYNC', 'ERR_STORE_UNKNOWN'],
    ['COMMIT', 'SQLITE_SOMETHING_NEW', 'ERR_STORE_UNKNOWN'],
    ['SELECT', 'SQLITE_IOERR_READ', 'ERR_STORE_REFUSED'],
    ['INSERT', 'SQLITE_CORRUPT_INDEX', 'ERR_STORE_FATAL'],
    ['INSERT', 'SQLITE_READONLY', 'ERR_STORE_FATAL'],
    ['BEGIN', 'SQLITE_CANTOPEN', 'ERR_STORE_REFUSED'],
  ])('%s with %s is %s, and the next call works', (start, code, expected) => {
    let isFailing = false
    const before = (sql: string) => {
      if (isFailing && sql.startsWith(start)) throw sqliteFailure(code)
    }
    const { limiter, store } = limiterOn(spiedDatabase(files.open(files.fresh()), { before }))
    limiter.get('ada')
    isFailing = true
    expect(codeOf(() => limiter.hit('ada'))).toBe(expected)
    isFailing = false
    expect(store.size).toBe(0)
    expect(limiter.hit('ada').remaining).toBe(2)
  })

  test('in a rollback leave no transaction open for the next call', () => {
    let failing = ''
    const before = (sql: string) => {
      if (failing.includes(sql)) throw sqliteFailure('SQLITE_IOERR')
    }
    const { limiter } = limiterOn(spiedDatabase(files.open(files.fresh()), { before }))
    limiter.get('ada')
    failing = 'COMMIT ROLLBACK'
    expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_UNKNOWN')
    failing = ''
    expect(limiter.hit('ada').remaining).toBe(2)
  })
})

describe('a connection', () => {
  test('in a transaction of the caller fails as fatal, and the transaction goes on', () => {
    const database = files.open(files.fresh())
    const { limiter } = limiterOn(database)
    limiter.hit('ada')
    database.exec('CREATE TABLE mine (n); BEGIN; INSERT INTO mine VALUES (1)')
    expect([1, 2].map(() => codeOf(() => limiter.hit('ada')))).toEqual(['ERR_STORE_FATAL', 'ERR_STORE_FATAL'])
    database.exec('INSERT INTO mine VALUES (2); COMMIT')
    expect(onlyValue(database, 'SELECT count(*) FROM mine')).toBe(2)
    expect(limiter.hit('ada').remaining).toBe(1)
  })

  test.each(Object.keys(DRIVERS))('that was closed fails as fatal: %s', (driver) => {
    const database = files.open(files.fresh(), driver)
    const { limiter, store } = limiterOn(database)
    limiter.hit('ada')
    database.close()
    expect(codeOf(() => limiter.hit('ada'))).toBe('ERR_STORE_FATAL')
    expect(codeOf(() => store.clean())).toBe('ERR_STORE_FATAL')
    expect(codeOf(() => store.size)).toBe('ERR_STORE_FATAL')
    expect(limiterOn(database, { then: 'allow' }).limiter.hit('ada').allowed).toBe(true)
  })

  test('whose file was deleted goes on in the deleted file', () => {
    const file = files.fresh()
    const { limiter } = limiterOn(files.open(file), { then: 'deny' })
    limiter.hit('ada')
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`)
    expect(limiter.hit('ada')).toMatchObject({ source: 'store', remaining: 1 })
    // A process that opens the file now makes a new one.
    expect(limiterOn(files.open(file)).limiter.hit('ada').remaining).toBe(2)
  })

  test('whose table was dropped makes it again', () => {
    const database = files.open(files.fresh())
    const { limiter } = limiterOn(database, { then: 'deny' })
    limiter.hit('ada')
    const table = freshTable()
    database.exec(`DROP TABLE sluice_states; DROP TABLE sluice_states_meta; CREATE TABLE ${table} (n)`)
    expect(limiter.hit('ada').failure).toEqual({ reason: 'fatal', then: 'deny' })
    expect(limiter.hit('ada').remaining).toBe(2)
  })

  test('with tables of another version fails as fatal, and says so', () => {
    const database = files.open(files.fresh())
    limiterOn(database).limiter.hit('ada')
    database.exec('UPDATE sluice_states_meta SET version = 2')
    expect(() => limiterOn(database).limiter.hit('ada')).toThrow(/version 2.*needs 1/)
  })
})

/** Overwrites the pages of the tables. The first page has the header and the schema. */
function damage(file: string, pageSize: number, pages: number): void {
  const fd = openSync(file, 'r+')
  for (let page = 1; page < pages; page++) writeSync(fd, Buffer.alloc(pageSize, 0xee), 0, pageSize, page * pageSize)
  closeSync(fd)
}
