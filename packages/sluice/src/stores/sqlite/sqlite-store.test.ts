import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../../../../test/servers/sqlite-drivers.mjs'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../create-limiter.ts'
import { LockWait } from './lock-wait.ts'
import { commitErrorKind, isBusy, isPlainError, sqliteErrorKind } from './sqlite-errors.ts'
import { sqliteStore } from './sqlite-store.ts'

const wrong: readonly (readonly [option: string, values: readonly unknown[]])[] = [
  ['table', ['', '1st', 'a b', 'a"b', 'drop;table', 'sqlite_mine', 'x'.repeat(61), 7, null]],
  ['maxKeys', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null]],
  ['busyTimeoutMs', [-1, 0.5, 60_001, '5', null]],
  ['synchronous', ['NORMAL', 'off', 1, null]],
  ['clock', [{}, null, 5, { now: 5 }]],
  ['sync', [true]],
]

test.each(wrong)('sqliteStore refuses a wrong %s', (option, values) => {
  const database = openSqlite(':memory:')
  for (const value of values) {
    expect(() => sqliteStore(database, { [option]: value }), String(value)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    )
  }
  database.close()
})

test.each(['limit', 'Order', 'index', 'values'])('a table may have the name of a word of SQL: %s', (table) => {
  const database = openSqlite(':memory:')
  const store = sqliteStore(database, { table })
  expect(createLimiter({ rules: fixedWindow({ limit: 5, window: '1h' }), store }).hit('ada').remaining).toBe(4)
  expect([store.size, store.clean()]).toEqual([1, 0])
  database.close()
})

test('sqliteStore refuses what is no connection', () => {
  for (const database of [undefined, null, 'file.db', {}, { exec() {} }, () => {}]) {
    expect(() => sqliteStore(database as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'database' }))
  }
})

test('nothing is done with the connection before the first call', () => {
  const touched = () => {
    throw new Error('touched')
  }
  const limiter = createLimiter({
    rules: fixedWindow({ limit: 1, window: '1m' }),
    store: sqliteStore({ exec: touched, prepare: touched }),
  })
  expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_STORE_FATAL' }))
})

test('numbers of a connection that returns big integers are read', () => {
  const database = openSqlite(':memory:') as ReturnType<typeof openSqlite> & { defaultSafeIntegers?(isOn: boolean): void }
  database.defaultSafeIntegers?.(true)
  const store = sqliteStore(database, { maxKeys: 10 })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 5, window: '1h' }), store })
  for (let i = 0; i < 100; i++) limiter.hit(`user:${i}`)
  expect([store.size <= 10, store.evictions >= 90, store.clean()]).toEqual([true, true, 0])
  database.close()
})

describe('rows', () => {
  const places = (rules: number, keys: number) => {
    const database = openSqlite(':memory:')
    const several = Array.from({ length: rules }, (_, i) => fixedWindow({ limit: 5, window: '1h', name: `rule ${i}` }))
    const limiter = createLimiter({ rules: several, store: sqliteStore(database) })
    for (let i = 0; i < keys; i++) limiter.hit(`user:${i}`)
    const rows = database.prepare('SELECT hash, name FROM sluice_states ORDER BY hash, name').all()
    database.close()
    return rows as readonly { readonly hash: number; readonly name: string }[]
  }

  test('of one key lie next to each other', () => {
    const keys = places(3, 100).map(({ name }) => name.split('|')[0])
    expect(keys).toHaveLength(300)
    const neighbours = keys.filter((key, i) => key === keys[i + 1]).length
    // Two keys whose rows are mixed need the same 24 bits of their hashes.
    expect(neighbours).toBe(200)
  })

  test('of different keys are spread evenly', () => {
    const hashes = places(1, 1000).map(({ hash }) => hash)
    for (const quarter of [-(2 ** 31), -(2 ** 30), 0, 2 ** 30]) {
      const count = hashes.filter((hash) => hash >= quarter && hash < quarter + 2 ** 30).length
      expect(count).toBeGreaterThan(150)
    }
  })

  test('of one key with hundreds of states have different places', () => {
    expect(new Set(places(300, 1).map(({ hash }) => hash)).size).toBeGreaterThan(100)
  })
})

describe('errors', () => {
  const better = (code: string) => Object.assign(new Error(code), { code })
  const node = (errcode: number) => Object.assign(new Error('no'), { code: 'ERR_SQLITE_ERROR', errcode })

  test.each([
    [better('SQLITE_BUSY'), 'refused', 'refused'],
    [better('SQLITE_BUSY_SNAPSHOT'), 'refused', 'refused'],
    [node(517), 'refused', 'refused'],
    [better('SQLITE_FULL'), 'refused', 'refused'],
    [node(13), 'refused', 'refused'],
    [better('SQLITE_IOERR_SHORT_READ'), 'refused', 'unknown'],
    [node(10 + 3 * 256), 'refused', 'unknown'],
    [better('SQLITE_CORRUPT'), 'fatal', 'unknown'],
    [better('SQLITE_NOTADB'), 'fatal', 'unknown'],
    [better('SQLITE_BUSYNESS'), 'fatal', 'unknown'],
    [new TypeError('The database connection is not open'), 'fatal', 'unknown'],
    [undefined, 'fatal', 'unknown'],
  ] as const)('%s is %s before the commit, and %s in it', (error, before, inCommit) => {
    expect([sqliteErrorKind(error), commitErrorKind(error)]).toEqual([before, inCommit])
  })

  test('of a lock and of a statement are recognised', () => {
    expect([better('SQLITE_BUSY_RECOVERY'), node(5), node(6), better('SQLITE_LOCKED')].map(isBusy)).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect([better('SQLITE_ERROR'), node(1), node(257), new Error('SQLITE_ERROR')].map(isPlainError)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('the wait for a lock', () => {
  /** Attempts that find the file locked, except the one with this number. */
  function attempts(works = Number.POSITIVE_INFINITY) {
    const made = { count: 0 }
    const attempt = () => {
      made.count += 1
      if (made.count < works) throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
      return 'done'
    }
    return { made, attempt }
  }

  test('tries often, and gives up in time', () => {
    const { made, attempt } = attempts()
    const startMs = performance.now()
    expect(() => new LockWait(150, Math.random).run(attempt)).toThrow('locked')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(145)
    // Sleeps of at most 1.5 ms, whatever else the machine does.
    expect(made.count).toBeGreaterThan(100)
  })

  test('ends with the first attempt that works, or that fails for another reason', () => {
    const wait = new LockWait(10_000, Math.random)
    const { made, attempt } = attempts(5)
    expect([wait.run(attempt), made.count]).toEqual(['done', 5])
    expect(() =>
      wait.run(() => {
        throw new Error('no disk')
      }),
    ).toThrow('no disk')
  })

  test('of 0 ms tries once', () => {
    const { made, attempt } = attempts()
    expect(() => new LockWait(0, Math.random).run(attempt)).toThrow('locked')
    expect(made.count).toBe(1)
  })
})
