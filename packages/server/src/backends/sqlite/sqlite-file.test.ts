import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createLimiter, fixedWindow } from 'sluice'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DRIVERS } from '../../../../../test/servers/sqlite-drivers.mjs'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { SharedRecords } from '../records/shared-records.ts'
import { checkVersion } from '../sql/record-tables.ts'
import { sqlAuditTrail } from '../sql/sql-audit-log.ts'
import { SqlDatabase } from '../sql/sql-database.ts'
import { sqliteCounters } from './sqlite-counters.ts'
import { SqliteDriver } from './sqlite-driver.ts'
import { findSqlite, type MakeConnection, type SqliteConnection, SqliteFile } from './sqlite-file.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.doUnmock('better-sqlite3')
  vi.resetModules()
})

describe.each(Object.entries(DRIVERS))('with %s', (_name, open) => {
  const find = async (): Promise<MakeConnection> => (path) => open(path) as unknown as SqliteConnection

  test('records, audit log and counters are stored in one file, and are there after it is opened again', async () => {
    const path = join(temporaryFolder(), 'a.db')
    for (const round of [1, 2]) {
      const file = await SqliteFile.open(path, find)
      const driver = new SqliteDriver(file)
      await checkVersion(driver)
      const records = new SharedRecords({ database: new SqlDatabase(driver) })
      await records.poll()
      expect(records.all('policy').get('p')).toBe(round === 1 ? undefined : 1)
      const note = { entry: { actor: 'k', action: 'policy.put', target: 'p' }, isStored: false }
      await records.commit([{ kind: 'policy', id: 'p', value: round }], { note })
      expect(note.isStored).toBe(true)
      expect((await sqlAuditTrail(driver).read()).entries).toHaveLength(round)
      const counters = sqliteCounters(file, { maxKeys: 10, timeoutMs: 10 })
      expect(counters.size()).toBe(0)
      await records.close()
      file.close()
    }
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})

describe('a file that was replaced', () => {
  test('is noticed by counters after a quarter of a second, and looked at four times a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const path = join(temporaryFolder(), 'a.db')
    const file = await SqliteFile.open(path)
    onTestFinished(() => file.close())
    const { store } = sqliteCounters(file, { maxKeys: 10, timeoutMs: 10 })
    const limiter = createLimiter({ rules: fixedWindow({ limit: 100, window: '1h' }), store })
    limiter.hit('ada')
    renameSync(path, `${path}.moved`)
    vi.advanceTimersByTime(249)
    expect(await limiter.hit('ada')).toMatchObject({ source: 'store', remaining: 98 })
    vi.advanceTimersByTime(1)
    const message = expect.stringContaining('the file was replaced while it was open: restart this instance')
    expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_STORE_FATAL', message }))
    renameSync(`${path}.moved`, path)
    expect(await limiter.get('ada')).toBe(2)
  })
})

describe('the driver', () => {
  test.runIf('better-sqlite3' in DRIVERS)('is better-sqlite3 where Node has none of its own', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    const connection = (await findSqlite())(join(temporaryFolder(), 'a.db'))
    expect(connection).toHaveProperty('pragma')
    connection.close()
  })

  test('is missing: the error says what to do', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    vi.doMock('better-sqlite3', () => {
      throw new Error('not installed')
    })
    await expect(findSqlite()).rejects.toMatchObject({
      code: 'ERR_CONFIG',
      message: expect.stringMatching(/node:sqlite.*update Node.*npm install better-sqlite3/),
    })
  })
})
