import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type PgClient, type PgPool, type PgPoolClient, pgClient, pgPool } from './pg-client.ts'
import { statementsOf } from './postgres-statements.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A client that answers when the test says so. It refuses to prepare, so that statements are texts. */
function makeClient() {
  const sent: { readonly text: string; answer(): void; fail(error: Error): void }[] = []
  const query = (text: string) =>
    new Promise((resolve, reject) => {
      if (text.startsWith('PREPARE')) reject(Object.assign(new Error('x'), { code: '42P05' }))
      else sent.push({ text, answer: () => resolve({ rows: [{}] }), fail: reject })
    })
  const client: PgClient = { query, connect: async () => {}, on: () => {} }
  return { client, sent, texts: () => sent.map(({ text }) => text.replace('BEGIN ISOLATION LEVEL READ COMMITTED', 'BEGIN')) }
}

const statements = statementsOf('"t"')

test('a lone client begins no transaction before the last one has ended, even if its answer comes too late', async () => {
  const { client, sent, texts } = makeClient()
  const connections = pgClient(client)
  let isOver = false
  const next = () => {
    if (isOver) throw new Error('too late')
    return 'W'
  }
  const first = connections.transaction({ statements, first: () => 'A', next, longestMs: 100 })
  const second = connections.transaction({ statements, first: () => 'B', next: () => 'X', longestMs: 1e6 })
  await vi.advanceTimersByTimeAsync(200)
  isOver = true
  expect(texts(), 'nothing was sent behind the first').toEqual(['BEGIN;A'])
  sent[0].answer()
  await expect(first).rejects.toThrow('too late')
  expect(texts()).toEqual(['BEGIN;A', 'ROLLBACK'])
  sent[1].answer()
  await vi.advanceTimersByTimeAsync(0)
  sent[2].answer()
  await vi.advanceTimersByTimeAsync(0)
  sent[3].answer()
  await second
  expect(texts()).toEqual(['BEGIN;A', 'ROLLBACK', 'BEGIN;B', 'X;COMMIT'])
})

test('after an error that leaves a transaction open, the next one ends it', async () => {
  const { client, sent, texts } = makeClient()
  const connections = pgClient(client)
  const asked = connections.transaction({ statements, first: () => 'A', next: () => undefined, longestMs: 1e6 })
  await vi.advanceTimersByTimeAsync(0)
  sent[0].fail(new Error('Query read timeout'))
  await expect(asked).rejects.toThrow('Query read timeout')
  void connections.transaction({ statements, first: () => 'B', next: () => undefined, longestMs: 1e6 })
  await vi.advanceTimersByTimeAsync(0)
  sent[1].answer()
  await vi.advanceTimersByTimeAsync(0)
  expect(texts()).toEqual(['BEGIN;A', 'ROLLBACK;BEGIN;B', 'ROLLBACK'])
})

test('a connection of a pool that fails in the moment in which it is made does not end the process', async () => {
  class FailingClient extends EventEmitter implements PgPoolClient {
    query = (): Promise<never> => Promise.reject(new Error('gone'))
    release = vi.fn()
  }
  class FailingPool extends EventEmitter implements PgPool {
    readonly totalCount = 1
    query = (): Promise<never> => Promise.reject(new Error('gone'))
    connect(callback: Parameters<PgPool['connect']>[0]): void {
      const client = new FailingClient()
      callback(undefined, client)
      client.emit('error', new Error('terminated'))
    }
  }
  const asked = pgPool(new FailingPool()).transaction({ statements, first: () => 'A', next: () => undefined, longestMs: 1e6 })
  await expect(asked).rejects.toThrow('gone')
})
