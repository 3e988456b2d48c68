import { createPoolCluster } from 'mysql2'
import { describe, expect, test } from 'vitest'
import { sessionsOf } from './mysql-client.ts'
import { mysqlErrorKind } from './mysql-errors.ts'
import { mysqlStore } from './mysql-store.ts'
import { mysqlSchema } from './mysql-table.ts'

const connection = { query: async () => [], execute: async () => [] }

describe('options', () => {
  test.each([undefined, null, 7, 'mysql://localhost', {}, [], { query: 1 }, Promise.resolve(connection)])(
    'the client %s is refused',
    (client) => {
      expect(() => mysqlStore(client as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    },
  )

  test('a cluster of pools with callbacks is refused, because its answer would never come', () => {
    const cluster = createPoolCluster()
    for (const client of [cluster, cluster.of('*')]) {
      expect(() => mysqlStore(client as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    }
    cluster.end()
  })

  test('a promise is recognised', () => {
    expect(() => mysqlStore(Promise.resolve(connection) as never)).toThrow('await it')
  })

  test.each([
    ['createTable', 'yes'],
    ['sweepEveryMs', -1],
    ['sweepEveryMs', 0.5],
    ['sweepEveryMs', 2 ** 31],
    ['sweepEveryMs', '10'],
    ['prefix', 'x'],
  ])('%s: %s is refused', (option, value) => {
    const expected = expect.objectContaining({ code: 'ERR_OPTION', option })
    expect(() => mysqlStore(connection, { [option]: value } as never)).toThrow(expected)
  })

  test('options that are no object are refused', () => {
    expect(() => mysqlStore(connection, 'sluice' as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
    expect(() => mysqlSchema({ tabel: 'x' } as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'tabel' }))
  })
})

describe('one connection', () => {
  test('is used by one transaction at a time, in order', async () => {
    const sessions = sessionsOf(connection)
    const log: string[] = []
    const opened = ['first', 'second'].map(async (name) => {
      const session = await sessions.open()
      log.push(name)
      return session
    })
    const first = await opened[0]
    await new Promise(setImmediate)
    expect(log).toEqual(['first'])
    first.release()
    await opened[1]
    expect(log).toEqual(['first', 'second'])
  })

  test('an error of an idle connection does not end the process', () => {
    const events: string[] = []
    const inner = { on: (event: string) => void events.push(event), config: {} }
    sessionsOf({ ...connection, connection: inner } as never)
    sessionsOf({ ...connection, connection: inner } as never)
    expect(events).toEqual(['error'])
  })
})

describe('answers', () => {
  const rowsOf = async (answer: unknown) => {
    const session = await sessionsOf({ ...connection, query: async () => answer }).open()
    return session.send('')
  }

  test.each([
    ['one SELECT', [[[1, 2]], [{}, {}]], [[[1, 2]]]],
    ['one SELECT without rows', [[], [{}]], [[]]],
    ['one statement without rows', [{ affectedRows: 1 }, undefined], []],
    [
      'several',
      [
        [{}, [[1]], [], {}],
        [undefined, [{}], [{}], undefined],
      ],
      [[[1]], []],
    ],
    [
      'several that begin with a SELECT',
      [
        [[[1]], {}],
        [[{}], undefined],
      ],
      [[[1]]],
    ],
  ])('%s', async (_, answer, expected) => {
    expect(await rowsOf(answer)).toEqual(expected)
  })
})

test.each([
  [1213, 'refused'],
  [1205, 'refused'],
  [1062, 'refused'],
  [1290, 'refused'],
  [1040, 'refused'],
  [1568, 'refused'],
  [1045, 'fatal'],
  [1146, 'fatal'],
  [1153, 'fatal'],
  [1665, 'fatal'],
  [1317, undefined],
  [1180, undefined],
  [undefined, undefined],
])('the error %s is %s', (errno, kind) => {
  expect(mysqlErrorKind(Object.assign(new Error('x'), { errno }))).toBe(kind)
  expect(mysqlErrorKind(undefined)).toBe(undefined)
})
