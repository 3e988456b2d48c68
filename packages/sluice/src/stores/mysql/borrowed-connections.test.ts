import { describe, expect, test } from 'vitest'
import { BorrowedConnections } from './borrowed-connections.ts'
import type { Rows, Session, Sessions } from './mysql-client.ts'

/** Sessions that never answer, and a note of each step. */
function silentSessions(isPool = true) {
  const log: string[] = []
  const session: Session = {
    send: (sql) => {
      log.push(sql)
      return new Promise<readonly Rows[]>(() => {})
    },
    hasMultipleStatements: false,
    release: () => void log.push('release'),
    discard: () => void log.push('discard'),
  }
  const sessions: Sessions = { isPool, open: async () => session }
  return { log, sessions }
}

const refused = expect.objectContaining({ code: 'ERR_STORE_REFUSED' })

describe('borrowed connections', () => {
  test('are bounded in number, and each ends once', async () => {
    const connections = new BorrowedConnections(silentSessions().sessions, { most: 2, longestMs: 60_000 })
    const [first] = await Promise.all([connections.open(), connections.open()])
    await expect(connections.open()).rejects.toEqual(refused)
    first.release()
    first.release()
    first.discard()
    const third = await connections.open()
    await expect(connections.open()).rejects.toEqual(refused)
    third.discard()
  })

  test('those that wait for a connection count too', async () => {
    const connections = new BorrowedConnections(
      { isPool: true, open: () => new Promise(() => {}) },
      { most: 1, longestMs: 60_000 },
    )
    void connections.open()
    await expect(connections.open()).rejects.toEqual(refused)
  })

  test('a pool without a connection frees the place', async () => {
    const connections = new BorrowedConnections(
      { isPool: true, open: () => Promise.reject(new Error('full')) },
      { most: 1, longestMs: 60_000 },
    )
    for (let i = 0; i < 3; i++) await expect(connections.open()).rejects.toThrow('full')
  })

  test('a connection of a pool that does not answer is closed, and its caller learns of it', async () => {
    const { log, sessions } = silentSessions()
    const connections = new BorrowedConnections(sessions, { most: 1, longestMs: 20 })
    const connection = await connections.open()
    await expect(connection.send('SELECT 1')).rejects.toThrow('in time')
    expect(log).toEqual(['SELECT 1', 'discard'])
    await connections.open()
  })

  test('the connection of an application is never closed', async () => {
    const { log, sessions } = silentSessions(false)
    const connection = await new BorrowedConnections(sessions, { most: 1, longestMs: 10 }).open()
    void connection.send('SELECT 1')
    await new Promise((resolve) => setTimeout(resolve, 40))
    expect(log).toEqual(['SELECT 1'])
  })

  test('the transaction of a lone connection is rolled back, also on a server that has become read-only', async () => {
    const { log, sessions } = silentSessions(false)
    const connection = await new BorrowedConnections(sessions, { most: 1, longestMs: 60_000 }).open()
    void connection.rollBack({ errno: 1290 })
    expect(log).toEqual(['ROLLBACK AND NO CHAIN NO RELEASE'])
  })

  test.each([
    ['a lost connection', { fatal: true }, ['discard']],
    ['a server that has become read-only', { errno: 1290 }, ['discard']],
    ['a transaction of the application', { errno: 1568 }, ['release']],
    ['a deadlock', { errno: 1213 }, ['ROLLBACK AND NO CHAIN NO RELEASE']],
  ])('after %s', async (_, error, expected) => {
    const { log, sessions } = silentSessions()
    const connection = await new BorrowedConnections(sessions, { most: 1, longestMs: 60_000 }).open()
    void connection.rollBack(error)
    await new Promise(setImmediate)
    expect(log).toEqual(expected)
    connection.discard()
  })
})
