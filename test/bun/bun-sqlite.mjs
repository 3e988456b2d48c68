// Tests of the SQLite store on bun:sqlite: the suite for stores, and errors, which Bun throws in a form of its own.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, fixedWindow } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { storeSuite } from 'sluice/testing'

/** @import { StoreSuiteOptions } from 'sluice/testing' */
/** @import { SqliteDatabase } from 'sluice/sqlite' */

const MODULE = 'bun:sqlite'

/** @type {{ Database: new (file: string) => SqliteDatabase & { close(): void } }} */
const { Database } = await import(MODULE)

const rules = fixedWindow({ limit: 3, window: '1h' })

/**
 * Defines the tests. Returns a function that removes their files.
 * @param {Required<StoreSuiteOptions>['runner']} runner
 */
export function sqliteTests(runner) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bun-'))
  let files = 0
  const freshFile = () => join(folder, `${files++}.db`)
  const shared = new Database(freshFile())
  let tables = 0
  storeSuite('bun:sqlite', (clock) => sqliteStore(shared, { clock, table: `suite_${tables++}` }), { runner, steps: 500 })

  runner.describe('bun:sqlite', () => {
    runner.test('a file that is locked refuses, and works again', async () => {
      const file = freshFile()
      const limiter = createLimiter({ rules, store: sqliteStore(new Database(file), { busyTimeoutMs: 20 }) })
      limiter.hit('ada')
      const other = new Database(file)
      other.exec('BEGIN IMMEDIATE')
      assert.throws(() => limiter.hit('ada'), { code: 'ERR_STORE_REFUSED' })
      assert.equal(limiter.peek('ada').remaining, 2)
      other.exec('ROLLBACK')
      assert.equal(limiter.hit('ada').remaining, 1)
    })

    runner.test('a file without space refuses, and counts nothing', async () => {
      const database = new Database(freshFile())
      const store = sqliteStore(database)
      const limiter = createLimiter({ rules, store })
      limiter.hit('ada')
      database.exec('PRAGMA max_page_count = 6')
      let counted = 1
      assert.throws(
        () => {
          for (; counted < 10_000; counted++) limiter.hit(`${counted}:${'x'.repeat(200)}`)
        },
        { code: 'ERR_STORE_REFUSED' },
      )
      assert.equal(store.size, counted)
    })

    runner.test('a file that is no database, and a connection that was closed before its first call, are fatal', async () => {
      const file = freshFile()
      writeFileSync(file, 'this is no database. '.repeat(500))
      const limiter = createLimiter({ rules, store: sqliteStore(new Database(file)) })
      assert.throws(() => limiter.hit('ada'), { code: 'ERR_STORE_FATAL' })
      const database = new Database(freshFile())
      // Bun closes a connection only after its statements are gone, so a store that has made some goes on.
      database.close()
      const closed = createLimiter({ rules, store: sqliteStore(database) })
      assert.throws(() => closed.hit('ada'), { code: 'ERR_STORE_FATAL' })
    })

    runner.test('a full table evicts, and ended states are removed', async () => {
      let nowMs = 1_763_193_637_123
      const store = sqliteStore(new Database(freshFile()), { maxKeys: 100, clock: { now: () => nowMs } })
      const limiter = createLimiter({ rules, store })
      for (let i = 0; i < 500; i++) limiter.hit(`user:${i}`)
      assert.ok(store.size <= 100 && store.evictions >= 400)
      nowMs += 3_600_000
      const { size } = store
      assert.equal(store.clean(), size)
      assert.equal(store.size, 0)
    })
  })
  return () => rmSync(folder, { recursive: true, force: true })
}
